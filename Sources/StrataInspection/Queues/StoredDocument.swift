import Foundation
import Strata

/// A payload or a result: bytes that should be JSON, and that any program may have stored.
package struct StoredDocument: Sendable {
    /// The greatest number of bytes that are shown to a person.
    package static let shownSize = 8192

    /// The bytes, or their beginning.
    package let bytes: Data
    /// The number of all bytes.
    package let size: Int

    /// The document for people: indented JSON, or its text, and notes about anything else.
    ///
    /// - Parameter advice: how to see the rest of a document that is cut, after its size.
    /// - Complexity: O(``shownSize``).
    package func lines(advice: String) -> [String] {
        let beginning = bytes.prefix(Self.shownSize)
        let isComplete = beginning.count == size
        guard size > 0 else { return ["(empty)"] }
        guard let text = Self.text(beginning, isComplete: isComplete) else { return ["(\(size) bytes, not text)"] }
        var lines: [String]
        if Self.isJSON(beginning, isComplete: isComplete) {
            lines = Self.indented(text)
        } else {
            lines = ["(not JSON)", text]
        }
        if !isComplete { lines.append("… (\(beginning.count) of \(size) bytes\(advice))") }
        return lines
    }

    /// Whether the shown bytes are text.
    package var isText: Bool {
        let beginning = bytes.prefix(Self.shownSize)
        return Self.text(beginning, isComplete: beginning.count == size) != nil
    }

    /// The text of bytes. The end of a beginning may be a part of a character, which is left out.
    private static func text(_ bytes: Data, isComplete: Bool) -> String? {
        for excess in 0...(isComplete ? 0 : min(3, bytes.count)) {
            if let text = String(bytes: bytes.dropLast(excess), encoding: .utf8) { return text }
        }
        return nil
    }

    /// Whether bytes are JSON, or may be the beginning of an object or array.
    private static func isJSON(_ bytes: Data, isComplete: Bool) -> Bool {
        if isComplete { return (try? JSONSerialization.jsonObject(with: bytes, options: .fragmentsAllowed)) != nil }
        let first = bytes.first { !isSpace($0) }
        return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
    }

    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }

    /// JSON with one line for each value. Keys keep their order, and numbers their digits.
    private static func indented(_ text: String) -> [String] {
        // Deeper levels are not indented further, so that nested brackets do not fill the screen with spaces.
        let greatestDepth = 16
        var (lines, line): ([String], [UInt8]) = ([], [])
        var depth = 0
        var (isInString, isEscaped, isOpened) = (false, false, false)
        func endLine() {
            lines.append(String(decoding: line, as: UTF8.self))
            line = Array(repeating: 0x20, count: 2 * min(depth, greatestDepth))
        }
        for byte in text.utf8 {
            if isInString {
                line.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            if isSpace(byte) { continue }
            let isClosing = byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
            if isClosing { depth = max(depth - 1, 0) }
            // An empty object or array stays on its line.
            if isOpened != isClosing { endLine() }
            isOpened = false
            line.append(byte)
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                isOpened = true
            case UInt8(ascii: ","): endLine()
            case UInt8(ascii: ":"): line.append(0x20)
            case UInt8(ascii: "\""): isInString = true
            default: break
            }
        }
        endLine()
        return lines
    }
}
