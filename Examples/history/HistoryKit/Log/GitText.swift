/// Git stores bytes; these are the ways in which they become text.
enum GitText {
    /// Names and messages: what is not UTF-8 becomes U+FFFD.
    static func lossy(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    /// Paths and addresses, which identify: what is not UTF-8 becomes `\xFF`, and a backslash beside it `\\`, so that
    /// two that differ stay two. Valid UTF-8 stays as it is.
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

/// A text that equals another only if the bytes do.
///
/// Swift holds `é` and `e` with an accent of its own for equal; file systems, git and SQLite do not. A dictionary that
/// stands for any of these uses this as its key.
public struct ExactText: Hashable, Sendable {
    public let text: String

    public init(_ text: String) { self.text = text }

    public static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    public func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
