/// A parsed command line: options with values (`--name value` or `--name=value`), flags, and words.
package struct Arguments {
    package private(set) var words: [String] = []
    package private(set) var flags: Set<String> = []
    private var values: [String: String] = [:]

    /// - Parameters:
    ///   - options: the names of options with a value, including their dashes.
    ///   - flags: the names of flags, in addition to `--help` and `-h`.
    /// - Throws: ``UsageError``.
    package init(_ arguments: [String], options: Set<String>, flags known: Set<String> = []) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-") else {
                words.append(argument)
                continue
            }
            if known.contains(argument) || argument == "--help" || argument == "-h" {
                flags.insert(argument)
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard options.contains(parts[0]) else { throw UsageError("unknown option \(parts[0])") }
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty else {
                throw UsageError("\(parts[0]) needs a value")
            }
            values[parts[0]] = value
        }
    }

    package func text(_ name: String) -> String? { values[name] }

    /// Whether the user asks only for the usage text.
    package var isHelp: Bool { !flags.isDisjoint(with: ["--help", "-h"]) }

    /// - Throws: ``UsageError``.
    package func number(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = values[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(
                "\(name) must be a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\""
            )
        }
        return number
    }

    /// A duration in seconds.
    package func seconds(_ name: String) throws -> Duration? {
        guard let text = values[name] else { return nil }
        guard let seconds = Double(text), seconds >= 0.01, seconds <= 86_400 else {
            throw UsageError("\(name) must be a number of seconds up to a day, not \"\(text)\"")
        }
        return .seconds(seconds)
    }

    /// A number of bytes such as `500k`, `2M` or `1G`, in decimal units.
    package func bytes(_ name: String) throws -> Int? {
        guard let text = values[name] else { return nil }
        let factors: [Character: Int] = ["k": 1_000, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000]
        let factor = text.last.flatMap { factors[$0] }
        guard let number = Int(factor == nil ? text : String(text.dropLast())), number > 0,
            case (let bytes, false) = number.multipliedReportingOverflow(by: factor ?? 1)
        else { throw UsageError("\(name) must be a number of bytes, such as 500k or 2M, not \"\(text)\"") }
        return bytes
    }
}
