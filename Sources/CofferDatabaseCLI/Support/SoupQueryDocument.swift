import CofferBase
import CofferCommandLine
import CofferDatabase

/// A soup query that is read from a JSON object. The object uses the terms of SmartStore's query specs.
enum SoupQueryDocument {
    /// A query for the documents in one soup.
    case spec(QuerySpec)
    /// A `SELECT` statement over soups, whose result consists of rows.
    case smart(SmartQuery)

    /// The number of documents to read at a time.
    static let pageSize = 100

    /// The members that are allowed for each query type, in addition to `queryType`.
    private static let members: [String: [String]] = [
        "all": ["orderPath", "order"],
        "exact": ["indexPath", "matchKey", "orderPath", "order"],
        "range": ["indexPath", "beginKey", "endKey", "orderPath", "order"],
        "like": ["indexPath", "likeKey", "orderPath", "order"],
        "match": ["indexPath", "matchKey", "orderPath", "order"],
        "smart": ["smartSql", "args"],
    ]

    /// Creates a query from a JSON object.
    ///
    /// - Parameter document: The JSON object.
    /// - Throws: `invalidInput` if the object is not a valid query.
    init(_ document: JSONValue) throws(CofferError) {
        guard let fields = document.object, let type = fields["queryType"]?.string,
            let members = Self.members[type]
        else {
            throw CofferError(
                .invalidInput,
                "A query must be a JSON object whose queryType is all, exact, range, like, match or smart.")
        }
        for name in fields.keys.sorted() where name != "queryType" && !members.contains(name) {
            throw CofferError(.invalidInput, "A query of type \(type) cannot have \(name.printable).")
        }
        guard type != "smart" else {
            let sql = try Self.text("smartSql", of: fields)
            self = .smart(
                try SmartQuery(sql, arguments: fields["args"]?.array ?? [], pageSize: Self.pageSize))
            return
        }
        self = .spec(try Self.spec(type, fields))
    }

    private static func spec(
        _ type: String, _ fields: [String: JSONValue]
    ) throws(CofferError) -> QuerySpec {
        let (order, by) = (try order(fields["order"]), fields["orderPath"]?.string)
        switch type {
        case "exact":
            guard let key = fields["matchKey"] else { throw missing("matchKey") }
            return .exact(
                key, path: try text("indexPath", of: fields), orderPath: by, order: order,
                pageSize: pageSize)
        case "range":
            return .range(
                from: fields["beginKey"], to: fields["endKey"], path: try text("indexPath", of: fields),
                orderPath: by, order: order, pageSize: pageSize)
        case "like":
            return .like(
                try text("likeKey", of: fields), path: try text("indexPath", of: fields), orderPath: by,
                order: order, pageSize: pageSize)
        case "match":
            return .match(
                try text("matchKey", of: fields), path: fields["indexPath"]?.string, orderPath: by,
                order: order, pageSize: pageSize)
        default: return .all(orderPath: by, order: order, pageSize: pageSize)
        }
    }

    private static func order(_ value: JSONValue?) throws(CofferError) -> QuerySpec.Order {
        guard let value else { return .ascending }
        switch value.string ?? "" {
        case "ascending": return .ascending
        case "descending": return .descending
        default: throw CofferError(.invalidInput, "A query's order must be ascending or descending.")
        }
    }

    private static func text(
        _ name: String, of fields: [String: JSONValue]
    ) throws(CofferError) -> String {
        guard let text = fields[name]?.string else { throw missing(name) }
        return text
    }

    private static func missing(_ name: String) -> CofferError {
        CofferError(.invalidInput, "The query's \(name) is missing or has the wrong type.")
    }
}
