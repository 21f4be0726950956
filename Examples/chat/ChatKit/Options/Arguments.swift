/// What a command line says: `--name value` or `--name=value`, and words.
struct Arguments {
    private(set) var words: [String] = []
    private(set) var isHelp = false
    private var values: [String: String] = [:]

    /// - Parameter options: those that there are, with their dashes.
    /// - Throws: ``UsageError``.
    init(_ arguments: [String], options: Set<String>) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-") else {
                words.append(argument)
                continue
            }
            if argument == "--help" || argument == "-h" {
                isHelp = true
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard options.contains(parts[0]) else { throw UsageError("there is no option \(parts[0])") }
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty else {
                throw UsageError("\(parts[0]) needs a value")
            }
            values[parts[0]] = value
        }
    }

    func text(_ name: String) -> String? { values[name] }

    /// - Throws: ``UsageError``.
    func number(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = values[name] else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw UsageError("\(name) is a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
        }
        return number
    }
}

/// Why the command line cannot be understood.
public struct UsageError: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = Screen.printable(description) }
}
