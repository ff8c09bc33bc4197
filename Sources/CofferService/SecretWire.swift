import Coffer
import CofferBase
import CofferCrypto
import CofferDBus

/// The form of secrets in messages: the session, the parameters, the value and the content type.
enum SecretWire {
    /// Returns a secret for a message.
    static func write(
        _ token: Token, type: String, session: String, _ transport: SecretTransport?
    ) throws(ServiceError) -> BusContent {
        guard let transport else {
            return .structure([.path(session), .bytes([]), .bytes(token.copyBytes()), .text(type)])
        }
        do throws(CofferError) {
            let sealed = try token.exposing { (bytes) throws(CofferError) in try transport.seal(bytes) }
            return .structure([.path(session), .bytes(sealed.iv), .bytes(sealed.ciphertext), .text(type)])
        } catch {
            throw ServiceError(error)
        }
    }

    /// The parts of a secret in a message.
    struct Parts {
        let session: String
        let parameters: [UInt8]
        let value: [UInt8]
        let type: String

        init(_ content: BusContent?) throws(ServiceError) {
            guard let fields = content?.fields, fields.count == 4, let session = fields[0].path,
                let parameters = fields[1].bytes, let value = fields[2].bytes, let type = fields[3].text
            else { throw .invalid("A secret must have the type (oayays).") }
            self.session = session
            self.parameters = parameters
            self.value = value
            self.type = type
        }

        /// Returns the secret in guarded memory.
        func token(_ transport: SecretTransport?) throws(ServiceError) -> Token {
            do throws(CofferError) {
                guard let transport else { return try Token(copying: value) }
                return try Token(transport.open(value.span, iv: parameters.span))
            } catch {
                throw ServiceError(error)
            }
        }
    }
}
