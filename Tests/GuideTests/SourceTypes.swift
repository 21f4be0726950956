/// The types that a Swift source declares and names, outside of comments and string literals.
///
/// The scanner knows only words, marks, comments and literals, and no grammar. It does not know literals of regular
/// expressions.
struct SourceTypes {
    /// The names that the source declares: types, protocols and type aliases, nested ones included.
    fileprivate(set) var declared: Set<String> = []
    /// All words that begin with a capital letter.
    fileprivate(set) var named: Set<String> = []
    /// The names of generic parameters, which may hide types.
    fileprivate(set) var parameters: Set<String> = []

    /// Complexity: O(bytes).
    init(_ text: String) {
        var scanner = SourceScanner(text)
        scanner.scanCode(isInterpolation: false)
        self = scanner.types
    }

    fileprivate init() {}
}

/// Scans the bytes of one source from the first to the last.
private struct SourceScanner {
    private let bytes: [UInt8]
    private var place = 0
    private(set) var types = SourceTypes()
    /// The word before this place; empty if anything but spaces follows the word.
    private var lastWord = ""
    /// Whether a list of generic parameters may begin at this place.
    private var mayHaveParameters = false
    /// The number of open angle brackets in a list of generic parameters.
    private var depth = 0
    /// Whether the next word is the name of a generic parameter.
    private var isParameterNext = false

    private static let declarations: Set<String> = [
        "actor", "associatedtype", "class", "enum", "macro", "protocol", "struct", "typealias",
    ]

    /// Whether a byte belongs to a word, by byte.
    private static let isOfWord: [Bool] = (UInt8.min...UInt8.max).map { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"): true
        default: false
        }
    }

    init(_ text: String) { bytes = Array(text.utf8) }

    /// Scans code up to its end, or through the parenthesis that ends an interpolation.
    mutating func scanCode(isInterpolation: Bool) {
        let isOfWord = Self.isOfWord
        var openCount = 0
        while place < bytes.count {
            let byte = bytes[place]
            switch byte {
            case _ where isOfWord[Int(byte)]: scanWord(isOfWord)
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "`"): place += 1
            case UInt8(ascii: "/") where has(UInt8(ascii: "/"), 1, at: place + 1): skipLine()
            case UInt8(ascii: "/") where has(UInt8(ascii: "*"), 1, at: place + 1): skipComment()
            case UInt8(ascii: "\""), UInt8(ascii: "#"): scanLiteral()
            default:
                note(byte)
                place += 1
                if byte == UInt8(ascii: "(") { openCount += 1 }
                if byte == UInt8(ascii: ")") {
                    if isInterpolation, openCount == 0 { return }
                    openCount -= 1
                }
            }
        }
    }

    private mutating func scanWord(_ isOfWord: [Bool]) {
        let start = place
        while place < bytes.count, isOfWord[Int(bytes[place])] { place += 1 }
        let word = String(decoding: bytes[start..<place], as: UTF8.self)
        if isParameterNext, word != "each" {
            types.parameters.insert(word)
            isParameterNext = false
        }
        mayHaveParameters = lastWord == "func" || word == "init" || word == "subscript"
        if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(bytes[start]) {
            types.named.insert(word)
            if Self.declarations.contains(lastWord) {
                types.declared.insert(word)
                mayHaveParameters = true
            }
        }
        lastWord = word
    }

    /// Follows the lists of generic parameters.
    private mutating func note(_ mark: UInt8) {
        isParameterNext = false
        switch mark {
        case UInt8(ascii: "<"):
            if mayHaveParameters { (depth, isParameterNext) = (1, true) } else if depth > 0 { depth += 1 }
        case UInt8(ascii: ">"): depth = max(0, depth - 1)
        case UInt8(ascii: ","): isParameterNext = depth == 1
        case UInt8(ascii: "{"): depth = 0
        default: break
        }
        // The list of a failable initializer follows its question mark.
        if mark != UInt8(ascii: "?") { mayHaveParameters = false }
        lastWord = ""
    }

    private mutating func skipLine() {
        while place < bytes.count, bytes[place] != UInt8(ascii: "\n") { place += 1 }
    }

    /// Skips a comment between `/*` and `*/`, with the comments that it contains.
    private mutating func skipComment() {
        var openCount = 0
        repeat {
            if has(UInt8(ascii: "/"), 1, at: place), has(UInt8(ascii: "*"), 1, at: place + 1) {
                openCount += 1
                place += 2
            } else if has(UInt8(ascii: "*"), 1, at: place), has(UInt8(ascii: "/"), 1, at: place + 1) {
                openCount -= 1
                place += 2
            } else {
                place += 1
            }
        } while openCount > 0 && place < bytes.count
    }

    /// Skips a string literal, and scans the code of its interpolations. Also skips the number signs before another
    /// word, as in `#if`.
    private mutating func scanLiteral() {
        note(bytes[place])
        var signs = 0
        while has(UInt8(ascii: "#"), 1, at: place) {
            signs += 1
            place += 1
        }
        guard has(UInt8(ascii: "\""), 1, at: place) else { return }
        let quotes = has(UInt8(ascii: "\""), 3, at: place) ? 3 : 1
        place += quotes
        while place < bytes.count {
            if bytes[place] == UInt8(ascii: "\\"), has(UInt8(ascii: "#"), signs, at: place + 1) {
                place += 1 + signs
                let isInterpolation = has(UInt8(ascii: "("), 1, at: place)
                place += 1
                if isInterpolation { scanCode(isInterpolation: true) }
            } else if has(UInt8(ascii: "\""), quotes, at: place), has(UInt8(ascii: "#"), signs, at: place + quotes) {
                place += quotes + signs
                return
            } else {
                place += 1
            }
        }
    }

    /// Whether these bytes are at a place: the same byte, `count` times.
    private func has(_ byte: UInt8, _ count: Int, at place: Int) -> Bool {
        var end = place
        while end < bytes.count, end < place + count, bytes[end] == byte { end += 1 }
        return end == place + count
    }
}
