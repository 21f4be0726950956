import Foundation

/// Runs all rows: nodes, and plain SQL by as many clients, in turns.
struct FleetRun {
    let options: FleetOptions
    private let plain: PlainSQL

    init(_ options: FleetOptions) {
        self.options = options
        plain = PlainSQL(port: options.port)
    }

    func run() throws {
        let folder = options.folder.appending(path: "strata-fleet-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try printConditions(folder)
        var outcomes: [FleetOutcome] = []
        for row in FleetRow.all {
            for nodes in options.nodes where row.isMeasured(nodes) {
                let name = row.name(nodes)
                guard options.filter.isEmpty || name.contains(options.filter) else { continue }
                let outcome = try measure(row, nodes, name, folder)
                FleetReport.print(outcome)
                outcomes.append(outcome)
            }
        }
        if let json = options.json { try FleetReport.write(outcomes, to: json) }
    }

    private func printConditions(_ folder: URL) throws {
        let settings = try ["server_version", "fsync", "synchronous_commit"].map { try plain.query("SHOW \($0)") }
        let direct = try plain.roundTrip(in: folder)
        let delayed = try withProxy { try PlainSQL(port: $0).roundTrip(in: folder) }
        print(
            """
            PostgreSQL \(settings[0]), fsync \(settings[1]), synchronous_commit \(settings[2])
            \(ProcessInfo.processInfo.activeProcessorCount) cores for the nodes, the server and the proxy together
            a statement takes \(Int(direct)) us without the proxy, and \(Int(delayed)) us with it; medians, rounds in the \
            order A B B A
            """
        )
        FleetReport.printHead()
    }

    private func measure(_ row: FleetRow, _ nodes: Int, _ name: String, _ folder: URL) throws -> FleetOutcome {
        var (strata, plain): ([FleetSample], [FleetSample]) = ([], [])
        for round in 0..<options.rounds {
            for isPlain in round.isMultiple(of: 2) ? [true, false] : [false, true] {
                let own = folder.appending(path: UUID().uuidString)
                try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
                defer { try? FileManager.default.removeItem(at: own) }
                do {
                    if isPlain {
                        plain.append(try measurePlain(row, nodes, own))
                    } else {
                        strata.append(try measureStrata(row, nodes, own))
                    }
                } catch {
                    throw FleetError("\(name): \(error)")
                }
            }
        }
        return FleetOutcome(name: name, nodes: nodes, strata: strata, plain: plain)
    }

    /// Each node is a process with a separate working copy.
    private func measureStrata(_ row: FleetRow, _ nodes: Int, _ folder: URL) throws -> FleetSample {
        let store = "fleet_\(UUID().uuidString)"
        let count = row.count(options.sizes)
        defer { plain.drop(store) }
        return try withProxy { port -> FleetSample in
            var children: [Child] = []
            defer { for child in children { child.end() } }
            for index in 0..<nodes {
                let order = FleetNode.Order(
                    row: row,
                    index: index,
                    nodes: nodes,
                    count: count,
                    port: port,
                    store: store,
                    folder: folder
                )
                let child = try Child(["node"] + order.arguments)
                children.append(child)
                // The first node queues the operations, which the copies of the others then begin with.
                try child.expect("ready")
            }
            let start = ContinuousClock.now
            for child in children { try child.send("go") }
            for child in children { try child.expect("done") }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            var cpuSeconds = 0.0
            // Each node first applies what it lacks, so that all have done the same work.
            for child in children { try child.send("end") }
            for child in children {
                guard let used = Double(try child.line()) else { throw FleetError("a node has not reported its time") }
                cpuSeconds += used
            }
            return FleetSample(count: count, nodes: nodes, seconds: seconds, cpuSeconds: cpuSeconds)
        }
    }

    private func measurePlain(_ row: FleetRow, _ nodes: Int, _ folder: URL) throws -> FleetSample {
        let count = row.count(options.sizes)
        let schema = "plain_\(UUID().uuidString)"
        defer { plain.drop(schema) }
        return try withProxy { port -> FleetSample in
            let client = PlainSQL(port: port)
            let work = PlainWork(row: row, schema: schema, clients: nodes, count: count)
            try plain.query(work.preparation)
            let run =
                row.work == .copies
                ? try client.read(work.script, in: folder)
                : try client.bench(work.script, clients: nodes, transactions: work.transactions, in: folder)
            guard try plain.query(work.check) == "t" else { throw FleetError("plain SQL has not done all of the work") }
            return FleetSample(count: count, nodes: nodes, seconds: run.seconds, cpuSeconds: run.cpuSeconds)
        }
    }

    /// Calls a function while a proxy runs, with its port.
    private func withProxy<Value>(_ body: (_ port: Int) throws -> Value) throws -> Value {
        let proxy = try Child(["proxy", "\(options.port)", "\(options.roundTrip)"])
        defer { proxy.end() }
        guard let port = Int(try proxy.line()) else { throw FleetError("the proxy has not started") }
        return try body(port)
    }
}
