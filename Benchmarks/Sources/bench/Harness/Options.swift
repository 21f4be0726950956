import Foundation

/// What the command line asks for.
struct Options {
    static let usage = """
        usage: Scripts/bench [--json FILE] [--filter WORD] [--quick] [--self-check] [--rounds N] [--folder PATH]
          --json FILE    also write the results as JSON
          --filter WORD  only the rows whose names contain the word
          --quick        small sizes and few rounds, to prove that everything works
          --self-check   the reference against itself: each ratio should be about 1
          --rounds N     how often each side does the work
          --folder PATH  where the stores lie
        """

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
            case "--help":
                print(Self.usage)
                exit(0)
            default: throw BenchError("unknown option '\(option)'\n\(Self.usage)")
            }
        }
        sizes.rounds = rounds ?? sizes.rounds
    }
}
