import Foundation

/// What the command line asks for.
struct Options {
    private static let usage = "Scripts/bench --help lists the options."

    /// What a run is for, with the option that asks for it.
    enum Purpose: String {
        case report
        case selfCheck = "--self-check"
        case keep = "--keep"
        case check = "--check"
    }

    var purpose = Purpose.report
    var json: URL?
    var filter = ""
    /// The file of the kept ratios.
    var ratios = URL(filePath: "Benchmarks/ratios.json")
    /// By how much a row may be worse than kept, as a part of the kept ratio. Documentation/Performance.md gives the
    /// reason for the default.
    var tolerance = 0.25
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
            case "--self-check", "--keep", "--check":
                guard purpose == .report, let chosen = Purpose(rawValue: option) else {
                    throw BenchError("only one of --self-check, --keep and --check is possible")
                }
                purpose = chosen
            case "--ratios": ratios = URL(filePath: try value(of: option))
            case "--tolerance":
                let text = try value(of: option)
                guard let percent = Double(text), percent >= 0, percent.isFinite else {
                    throw BenchError("--tolerance: '\(text)' is not a percentage such as 25")
                }
                tolerance = percent / 100
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

    /// Whether the run includes the row or peer of that name.
    func selects(_ name: String) -> Bool { filter.isEmpty || name.lowercased().contains(filter) }
}
