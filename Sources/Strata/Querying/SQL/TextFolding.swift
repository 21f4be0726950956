import Foundation

/// Converts texts to a form in which texts that are equal under the options have equal bytes.
enum TextFolding {
    static func fold(_ text: String, _ options: TextOptions) -> String {
        if options.isEmpty { return text }
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return options.contains(.caseInsensitive) ? text.lowercased() : text }
        var compare: String.CompareOptions = []
        if options.contains(.caseInsensitive) { compare.insert(.caseInsensitive) }
        if options.contains(.diacriticInsensitive) { compare.insert(.diacriticInsensitive) }
        return text.folding(options: compare, locale: nil).precomposedStringWithCanonicalMapping
    }

    /// The first text after all texts with the prefix, in the order of UTF-8; nil if there is no such text.
    ///
    /// The order of UTF-8 is the order of scalars, so the function increments the last scalar that has a successor.
    static func end(ofPrefix prefix: String) -> String? {
        var scalars = Array(prefix.unicodeScalars)
        while let last = scalars.popLast() {
            guard last.value < 0x10FFFF else { continue }
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1  // skips the surrogates
            guard let scalar = Unicode.Scalar(next) else { continue }
            scalars.append(scalar)
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars)
            return String(text)
        }
        return nil
    }
}

/// The pattern of SQL's LIKE, over Unicode scalars.
enum LikePattern {
    private enum Element {
        case scalar(Unicode.Scalar)
        case one
        case any
    }

    /// Whether the whole text matches the pattern.
    ///
    /// Complexity: O(text × pattern) at worst. Only the last `%` is retried.
    static func matches(_ pattern: String, _ text: String) -> Bool {
        let pattern = parse(pattern)
        let text = Array(text.unicodeScalars)
        var place = 0
        var element = 0
        var retry: (place: Int, element: Int)?
        while place < text.count {
            if element < pattern.count {
                switch pattern[element] {
                case .any:
                    retry = (place, element + 1)
                    element += 1
                    continue
                case .one:
                    place += 1
                    element += 1
                    continue
                case .scalar(let scalar) where scalar == text[place]:
                    place += 1
                    element += 1
                    continue
                case .scalar: break
                }
            }
            guard let last = retry else { return false }
            retry = (last.place + 1, last.element)
            place = last.place + 1
            element = last.element
        }
        return pattern[element...].allSatisfy { if case .any = $0 { true } else { false } }
    }

    private static func parse(_ pattern: String) -> [Element] {
        var result: [Element] = []
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            switch scalar {
            case _ where isEscaped:
                result.append(.scalar(scalar))
                isEscaped = false
            case "\\": isEscaped = true
            case "%": result.append(.any)
            case "_": result.append(.one)
            default: result.append(.scalar(scalar))
            }
        }
        if isEscaped { result.append(.scalar("\\")) }
        return result
    }
}
