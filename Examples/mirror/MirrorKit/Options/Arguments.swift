/// What a command line says: `--name value` or `--name=value`, flags, and words.
struct Arguments {
    private(set) var words: [String] = []
    private(set) var flags: Set<String> = []
    private var values: [String: String] = [:]

    /// - Parameters:
    ///   - options: those with a value, with their dashes.
    ///   - flags: those without.
    /// - Throws: ``UsageError``.
    init(_ arguments: [String], options: Set<String>, flags known: Set<String>) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("-") else {
                words.append(argument)
                continue
            }
            if known.contains(argument) {
                flags.insert(argument)
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

    /// A length of time in seconds.
    func seconds(_ name: String) throws -> Duration? {
        guard let text = values[name] else { return nil }
        guard let seconds = Double(text), seconds >= 0.01, seconds <= 86_400 else {
            throw UsageError("\(name) is a number of seconds up to a day, not \"\(text)\"")
        }
        return .seconds(seconds)
    }

    /// A number of bytes: `500k`, `2M`, `1G`, in units of a thousand.
    func bytes(_ name: String) throws -> Int? {
        guard let text = values[name] else { return nil }
        let factors: [Character: Int] = ["k": 1_000, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000]
        let factor = text.last.flatMap { factors[$0] }
        guard let number = Int(factor == nil ? text : String(text.dropLast())), number > 0,
            case (let bytes, false) = number.multipliedReportingOverflow(by: factor ?? 1)
        else { throw UsageError("\(name) is a number of bytes, as 500k or 2M, not \"\(text)\"") }
        return bytes
    }
}

/// Why the command line cannot be understood.
public struct UsageError: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = MirrorScreen.printable(description) }
}
