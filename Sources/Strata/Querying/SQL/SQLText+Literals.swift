extension SQLText {
    /// A statement without the values in it, so that statements that differ only in values become the same text.
    ///
    /// Texts, numbers and blobs become `?`, and a list of them becomes `?, …`. Comments become spaces. Names in
    /// quotation marks are kept. SQLite also takes a text in double quotation marks for a value if no column has this
    /// name; this text is kept too.
    ///
    /// - Complexity: O(length).
    static func withoutLiterals(_ sql: String) -> String {
        var scanner = LiteralScanner(sql)
        scanner.scan()
        return String(decoding: scanner.result, as: UTF8.self)
    }
}

/// Copies the bytes of a statement, and replaces its literals.
private struct LiteralScanner {
    private(set) var result: [UInt8] = []
    private let bytes: [UInt8]
    private var position = 0

    private static let space = UInt8(ascii: " ")
    private static let comma = UInt8(ascii: ",")
    private static let mark = UInt8(ascii: "?")
    private static let dots = Array("…".utf8)

    init(_ sql: String) { bytes = Array(sql.utf8) }

    private func peek(_ distance: Int) -> UInt8? {
        let index = position + distance
        return index < bytes.count ? bytes[index] : nil
    }

    mutating func scan() {
        while let byte = peek(0) {
            let next = peek(1)
            switch byte {
            case UInt8(ascii: "'"):
                skipQuoted(by: byte)
                appendParameter()
            case UInt8(ascii: "\""), UInt8(ascii: "`"): copyName(endingWith: byte)
            case UInt8(ascii: "["): copyName(endingWith: UInt8(ascii: "]"))
            case UInt8(ascii: "-") where next == UInt8(ascii: "-"):
                while let other = peek(0), other != UInt8(ascii: "\n") { position += 1 }
                appendSpace()
            case UInt8(ascii: "/") where next == UInt8(ascii: "*"): skipComment()
            case Self.mark:
                position += 1
                while let digit = peek(0), Self.isDigit(digit) { position += 1 }
                appendParameter()
            case _ where Self.isSpace(byte):
                position += 1
                appendSpace()
            case _ where Self.isDigit(byte): scanNumber()
            case UInt8(ascii: ".") where next.map(Self.isDigit) ?? false: scanNumber()
            case _ where Self.isWord(byte): scanWord()
            default:
                result.append(byte)
                position += 1
            }
        }
        if result.last == Self.space { result.removeLast() }
    }

    // MARK: Literals

    /// Moves to the byte after a text, in which quotation marks are doubled.
    private mutating func skipQuoted(by quote: UInt8) {
        position += 1
        while let byte = peek(0) {
            position += 1
            guard byte == quote else { continue }
            if peek(0) != quote { return }
            position += 1
        }
    }

    private mutating func scanNumber() {
        let isHexadecimal = (peek(1) ?? 0) | 32 == UInt8(ascii: "x")
        var last: UInt8 = 0
        while let byte = peek(0) {
            let isSign = byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            let isExponent = isSign && !isHexadecimal && last | 32 == UInt8(ascii: "e")
            guard Self.isWord(byte) || byte == UInt8(ascii: ".") || isExponent else { break }
            last = byte
            position += 1
        }
        appendParameter()
    }

    /// A keyword or name; or the beginning of a blob: `x'0A'`.
    private mutating func scanWord() {
        let start = position
        while let byte = peek(0), Self.isWord(byte) { position += 1 }
        let word = bytes[start..<position]
        if word.count == 1, bytes[start] | 32 == UInt8(ascii: "x"), peek(0) == UInt8(ascii: "'") {
            skipQuoted(by: UInt8(ascii: "'"))
            appendParameter()
        } else {
            result += word
        }
    }

    // MARK: Other parts

    private mutating func copyName(endingWith quote: UInt8) {
        let start = position
        if quote == UInt8(ascii: "]") {
            while let byte = peek(0), byte != quote { position += 1 }
            position = min(position + 1, bytes.count)
        } else {
            skipQuoted(by: quote)
        }
        result += bytes[start..<position]
    }

    private mutating func skipComment() {
        position += 2
        while let byte = peek(0), byte != UInt8(ascii: "*") || peek(1) != UInt8(ascii: "/") {
            position += 1
        }
        position = min(position + 2, bytes.count)
        appendSpace()
    }

    private mutating func appendSpace() {
        if let last = result.last, last != Self.space { result.append(Self.space) }
    }

    /// Appends a parameter. After another parameter and a comma, it is a part of a list.
    private mutating func appendParameter() {
        var end = result.count
        var hasComma = false
        while end > 0, result[end - 1] == Self.space || result[end - 1] == Self.comma {
            hasComma = hasComma || result[end - 1] == Self.comma
            end -= 1
        }
        let before = result[..<end]
        if hasComma, before.last == Self.mark {
            result.removeSubrange(end...)
            result += Array(", …".utf8)
        } else if hasComma, before.suffix(Self.dots.count).elementsEqual(Self.dots) {
            result.removeSubrange(end...)
        } else {
            result.append(Self.mark)
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { (9...13).contains(byte) || byte == space }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// Whether a byte can be part of a name without quotation marks.
    private static func isWord(_ byte: UInt8) -> Bool {
        isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 32) || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: "$") || byte >= 0x80
    }
}
