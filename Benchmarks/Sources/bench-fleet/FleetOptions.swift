import Foundation

/// What the command line asks for.
struct FleetOptions {
    /// The port of a server on the loopback interface, which lets the user `postgres` in.
    var port = 0
    var nodes = [1, 2, 4, 8]
    var rounds = 4
    /// The time that is added to each round trip, in microseconds.
    var roundTrip = 300
    var filter = ""
    var json: URL?
    var folder = FileManager.default.temporaryDirectory
    var sizes = FleetSizes.full

    init(_ arguments: [String]) throws {
        var rounds: Int?
        var rest = arguments.makeIterator()
        func value(of option: String) throws -> String {
            guard let value = rest.next() else { throw FleetError("\(option) needs a value") }
            return value
        }
        func number(of option: String, atLeast least: Int) throws -> Int {
            let text = try value(of: option)
            guard let number = Int(text), number >= least else { throw FleetError("\(option): '\(text)' is not valid") }
            return number
        }
        while let option = rest.next() {
            switch option {
            case "--port": port = try number(of: option, atLeast: 1)
            case "--nodes":
                nodes = try value(of: option).split(separator: ",").map { text in
                    // Otherwise the nodes cannot share the work equally.
                    guard let count = Int(text), [1, 2, 4, 8].contains(count) else {
                        throw FleetError("\(option): '\(text)' is not 1, 2, 4 or 8")
                    }
                    return count
                }
            case "--rounds": rounds = try number(of: option, atLeast: 1)
            case "--round-trip": roundTrip = try number(of: option, atLeast: 0)
            case "--filter": filter = try value(of: option).lowercased()
            case "--json": json = URL(filePath: try value(of: option))
            case "--folder": folder = URL(filePath: try value(of: option))
            case "--quick":
                sizes = .quick
                self.rounds = 1
            default: throw FleetError("unknown option '\(option)'\nScripts/bench --help lists the options.")
            }
        }
        if let rounds { self.rounds = rounds }
        guard port > 0 else { throw FleetError("--port is missing. Scripts/bench --fleet starts a server.") }
    }
}

/// How many operations the whole fleet does in a sample, whatever the number of nodes.
struct FleetSizes: Sendable {
    /// One operation in each transaction.
    let alone: Int
    /// Operations that share transactions.
    let grouped: Int
    /// The rows of a new copy.
    let copied: Int

    static let full = FleetSizes(alone: 2_048, grouped: 16_384, copied: 1_000_000)
    /// Proves that everything works; the figures mean little.
    static let quick = FleetSizes(alone: 64, grouped: 512, copied: 10_000)
}
