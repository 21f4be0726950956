import CBench
import Foundation

/// Measures stores with a home in PostgreSQL. `Scripts/bench --fleet` starts a server and this program.
///
/// The program also starts itself: as a node, and as the proxy between the nodes and the server.
@main
struct Main {
    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            switch arguments.first {
            case "free-port": print(bench_free_port())
            case "proxy": try DelayProxy.run(Array(arguments.dropFirst()))
            case "node": try await FleetNode.run(FleetNode.Order(Array(arguments.dropFirst())))
            default: try FleetRun(FleetOptions(arguments)).run()
            }
        } catch {
            FileHandle.standardError.write(Data("bench-fleet: \(error)\n".utf8))
            exit(1)
        }
    }
}

/// Unequal work, or a side that could not do it.
struct FleetError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
