public import CofferBase

extension LoginServer {
    /// Returns the servers that a `servers.xml` file lists.
    ///
    /// The file has a `servers` element with any number of `server` elements, each with exactly the
    /// attributes `name` and `url`. The reader accepts only the part of XML that such a file needs: no
    /// document type, no entities beyond the five of XML, no processing instructions and no CDATA.
    ///
    /// - Parameter bytes: The file's content, at most 64 KiB of UTF-8.
    /// - Returns: The servers in the order of the file.
    /// - Throws: `invalidInput`, with the line, if the file has another form, or if it contains a label or a
    ///   URL twice or a URL that is not an `https` URL.
    public static func servers(parsing bytes: [UInt8]) throws(CofferError) -> [LoginServer] {
        let root = try SyntaxFault.asError { () throws(SyntaxFault) in try StrictXML.parse(bytes) }
        guard root.name.hasSameBytes(as: "servers"), root.attributes.isEmpty else {
            throw invalid("the root element must be servers, without attributes", root.line)
        }
        var servers: [LoginServer] = []
        var (labels, urls): (Set<[UInt8]>, Set<HTTPSURL>) = ([], [])
        for element in root.children {
            let server = try server(element)
            guard labels.insert(Array(server.label.utf8)).inserted, urls.insert(server.url).inserted else {
                throw invalid("a name or a URL is there twice", element.line)
            }
            servers.append(server)
        }
        return servers
    }

    private static func invalid(_ reason: String, _ line: Int) -> CofferError {
        StrictXML.fault(reason, line).error
    }

    private static func server(_ element: StrictXML.Element) throws(CofferError) -> LoginServer {
        guard element.name.hasSameBytes(as: "server"), element.children.isEmpty else {
            throw invalid("only empty server elements may be in servers", element.line)
        }
        var (label, url): (String?, String?) = (nil, nil)
        for attribute in element.attributes {
            if attribute.name.hasSameBytes(as: "name") {
                label = attribute.value
            } else if attribute.name.hasSameBytes(as: "url") {
                url = attribute.value
            } else {
                throw invalid("a server may have only the attributes name and url", element.line)
            }
        }
        guard let label, let url else {
            throw invalid("a server must have the attributes name and url", element.line)
        }
        guard isLabel(label) else {
            throw invalid(
                "a name must be 1 to 256 bytes long, without control characters", element.line)
        }
        guard let parsed = try? HTTPSURL(url), parsed.query == nil else {
            throw invalid("a URL must be an https URL without a query", element.line)
        }
        return LoginServer(label: label, url: parsed)
    }
}
