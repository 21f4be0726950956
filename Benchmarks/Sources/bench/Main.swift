import Foundation

@main
struct Main {
    static func main() async {
        do {
            try await run(Options(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ options: Options) async throws {
        let folder = options.folder.appending(path: "strata-bench-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }

        print(Environment.describe(folder: folder))
        Report.printHead()
        let runner = Runner(sizes: options.sizes, values: Values(options.sizes), folder: folder)
        var outcomes: [Outcome] = []
        for row in Row.all(options.sizes) {
            for participant in options.isSelfCheck ? [selfCheck(row)] : participants {
                let name = participant.isPeer ? "\(row.name) (\(participant.name))" : row.name
                guard let side = participant.sides[row.work],
                    options.filter.isEmpty || name.lowercased().contains(options.filter)
                else { continue }
                let target = participant.isPeer ? nil : row.target
                let outcome = try await runner.measure(row, name, target: target, subject: side)
                Report.print(outcome)
                outcomes.append(outcome)
            }
        }
        Report.printSummary(outcomes)
        if let json = options.json { try Report.write(outcomes, to: json) }
    }

    private static func selfCheck(_ row: Row) -> Participant {
        Participant(name: "self-check", isPeer: true, sides: [row.work: row.reference])
    }

    private static var participants: [Participant] {
        [
            StrataSides.participant, GRDBRecords<PlainEntry>.participant("GRDB"),
            GRDBRecords<CodableEntry>.participant("GRDB Codable"),
        ]
    }
}
