import Foundation

/// What the command line asks for.
struct Options {
    private static let usage = "Scripts/bench --help lists the options."

    var json: URL?
    var filter = ""
    var isSelfCheck = false
    var folder = FileManager.default.temporaryDirectory
    var sizes = Sizes.full

    init(_ arguments: some Sequence<String>) throws {
        var rounds: Int?
        var rest = arguments.makeIterator()
        func value(of option: String) throws -> String {
            guard let value = rest.next() else { throw BenchError("\(option) needs a value\n\(Self.usage)") }
            return value
        }
        while let option = rest.next() {
            switch option {
            case "--json": json = URL(filePath: try value(of: option))
            case "--filter": filter = try value(of: option).lowercased()
            case "--quick": sizes = .quick
            case "--self-check": isSelfCheck = true
            case "--folder": folder = URL(filePath: try value(of: option))
            case "--rounds":
                let text = try value(of: option)
                guard let number = Int(text), number > 0 else { throw BenchError("--rounds: '\(text)' is no number") }
                rounds = number
            default: throw BenchError("unknown option '\(option)'\n\(Self.usage)")
            }
        }
        sizes.rounds = rounds ?? sizes.rounds
    }
}
