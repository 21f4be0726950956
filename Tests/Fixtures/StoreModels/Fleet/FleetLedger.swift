/// What the processes of a fleet have reported. The final store must agree with it.
public struct FleetLedger: Sendable {
    /// The commits that were acknowledged.
    public private(set) var stored: Set<FleetCommit> = []
    /// The commits whose outcome is not known, because the home did not answer (`uncertain`).
    public private(set) var unknown: Set<FleetCommit> = []
    /// The processes that have ended because the home had lost commits (`homeBehind`).
    public private(set) var behind: Set<String> = []
    /// The number of commits that a full disk has refused.
    public private(set) var fullDiskCount = 0
    public private(set) var faults: [String] = []
    /// The number of acknowledged commits, by process.
    private var storedCounts: [String: Int] = [:]
    /// The highest number that was reported, by process and kind.
    private var lastNumbers: [String: [FleetWork.Kind: Int]] = [:]
    private var interrupted: Set<String> = []

    public init() {}

    /// The number of acknowledged commits of a process.
    public func storedCount(of life: String) -> Int { storedCounts[life] ?? 0 }

    /// Takes a line of a process.
    public mutating func take(_ line: String, of life: String) {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        switch words.first {
        case "ready", "done": return
        case "full": fullDiskCount += 1
        case "behind":
            behind.insert(life)
            interrupted.insert(life)
        case "stored", "unknown":
            guard words.count == 2, let commit = FleetCommit(words[1]), commit.life == life,
                commit.number == lastNumber(of: commit) + 1
            else { return faults.append("unexpected line of \(life): \(line)") }
            lastNumbers[life, default: [:]][commit.kind] = commit.number
            if words[0] == "unknown" {
                unknown.insert(commit)
            } else {
                stored.insert(commit)
                storedCounts[life, default: 0] += 1
            }
        default: faults.append("\(life): \(line)")
        }
    }

    /// Records that a process was killed, so that it may have stored one commit of each kind without a report.
    public mutating func interrupt(_ life: String) { interrupted.insert(life) }

    public mutating func add(fault: String) { faults.append(fault) }

    /// The acknowledged commits that a store does not have.
    public func lost(in audit: FleetWork.Audit) -> Set<FleetCommit> { stored.subtracting(audit.commits) }

    /// The faults in a store, in the reports, and in what they say of each other.
    ///
    /// - Parameter isLossAllowed: whether an acknowledged commit may be missing.
    public func faults(
        in audit: FleetWork.Audit,
        isLossAllowed: (FleetCommit) -> Bool = { _ in false }
    ) -> [String] {
        let missing = lost(in: audit).filter { !isLossAllowed($0) }.map { "'\($0)' was acknowledged, and is lost" }
        let surplus = audit.commits.subtracting(stored).subtracting(unknown).filter { commit in
            !interrupted.contains(commit.life) || commit.number != lastNumber(of: commit) + 1
        }
        .map { "'\($0)' is stored, and no process has reported it" }
        let all = faults + audit.faults + missing.sorted() + surplus.sorted()
        return all.count > 20 ? Array(all.prefix(20)) + ["and \(all.count - 20) further faults"] : all
    }

    /// The highest number that was reported for commits of the same kind and process.
    private func lastNumber(of commit: FleetCommit) -> Int { lastNumbers[commit.life]?[commit.kind] ?? 0 }
}
