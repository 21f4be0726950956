/// Converts git's bytes to text.
enum GitText {
    /// Decodes names and messages. Invalid UTF-8 becomes U+FFFD.
    static func lossy(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Decodes paths and addresses, which are identifiers. An invalid byte becomes `\xFF`, and a backslash in the same
    /// text becomes `\\`, so that different identifiers stay different. Valid UTF-8 does not change.
    static func exact(_ bytes: ArraySlice<UInt8>) -> String {
        if let text = String(validating: bytes, as: UTF8.self) { return text }
        var text = ""
        var parser = Unicode.UTF8.ForwardParser()
        var source = bytes.makeIterator()
        var position = bytes.startIndex
        while true {
            switch parser.parseScalar(from: &source) {
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                text += scalar == "\\" ? "\\\\" : String(scalar)
                position += encoded.count
            case .error(let length):
                for byte in bytes[position..<position + length] {
                    text += "\\x" + String(byte, radix: 16, uppercase: true)
                }
                position += length
            case .emptyInput:
                return text
            }
        }
    }
}

/// A text that is compared by its bytes.
///
/// Swift treats `é` and `e` with a combining accent as equal. File systems, git and SQLite do not. So dictionaries of
/// their names use this type as the key.
public struct ExactText: Hashable, Sendable {
    public let text: String

    public init(_ text: String) { self.text = text }

    public static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    public func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
