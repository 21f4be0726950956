import Crypto
public import Foundation

/// The source of the bytes of a section for encryption.
public enum EncryptionSource: Sendable {
    /// The section does not have bytes.
    case none
    /// Bytes in memory.
    case data(Data)
    /// The bytes of a file. The file must not change until all bytes are uploaded.
    case file(URL)
    /// Bytes from another source.
    ///
    /// The version is a text that changes whenever the bytes change, if there is one. Resuming with another version is
    /// refused.
    case body(RemoteBody, version: String?)

    func body() throws -> RemoteBody {
        switch self {
        case .none: RemoteBody(Data())
        case .data(let data): RemoteBody(data)
        case .file(let url): try RemoteBody(file: url)
        case .body(let body, _): body
        }
    }

    /// A text that changes if the bytes change.
    func fingerprint() throws -> String {
        switch self {
        case .none: return Self.fingerprint(Data())
        case .data(let data): return Self.fingerprint(data)
        case .body(let body, let version): return "body \(body.size) \(version ?? "")"
        case .file(let url):
            do {
                let values = try FileManager.default.attributesOfItem(atPath: url.path)
                let size = (values[.size] as? NSNumber)?.int64Value ?? 0
                let number = (values[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0
                let modified = (values[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
                return "file \(size) \(number) \(modified)"
            } catch {
                throw RemoteError(.unreadableBody, "'\(url.path)' cannot be read: \(error)", underlying: error)
            }
        }
    }

    private static func fingerprint(_ data: Data) -> String {
        "data " + Hexadecimal.text(SHA256.hash(data: data))
    }

    /// Throws if the bytes do not match a fingerprint, as far as this can be detected without reading them.
    func check(_ expected: String) throws {
        // Bytes in memory cannot have changed since they were compared at the beginning.
        guard case .file(let url) = self else { return }
        guard try fingerprint() == expected else { throw CloudError.sourceChanged("'\(url.path)'") }
    }
}

extension CloudError {
    static func sourceChanged(_ what: String) -> CloudError {
        CloudError(
            .encryptionSourceChanged,
            "\(what) has changed since encryption began. Begin again, with a new upload state."
        )
    }
}
