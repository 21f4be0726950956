import Strata
import StrataCloud

/// Asks a server once what it does, and remembers that.
actor Probe {
    /// What was found.
    struct Findings: Sendable {
        var capabilities: RemoteCapabilities
        /// Whether versions stand in `If-Match` without quotes, as some servers want them.
        var hasBareTags = false
        /// Whether `If-Match` is looked at, even if two versions of one moment have the same tag.
        var checksTags = false
    }

    private enum State {
        case unknown
        case asking(Task<Findings, any Error>)
        case known(Findings)
    }

    private var state: State
    private let ask: @Sendable () async throws -> Findings

    init(known: RemoteCapabilities?, ask: @escaping @Sendable () async throws -> Findings) {
        state = known.map { .known(Findings(capabilities: $0, checksTags: $0.checksVersions)) } ?? .unknown
        self.ask = ask
    }

    /// What is known already; nil where nobody has asked.
    var known: Findings? {
        if case .known(let findings) = state { findings } else { nil }
    }

    /// What is known, or comes of asking.
    func findings() async throws -> Findings {
        try Task.checkCancellation()
        let task: Task<Findings, any Error>
        switch state {
        case .known(let findings): return findings
        case .asking(let other): task = other
        case .unknown:
            let ask = ask
            task = Task { try await ask() }
            state = .asking(task)
        }
        do {
            let findings = try await task.value
            state = .known(findings)
            return findings
        } catch {
            // The next one asks again, unless somebody does already.
            if case .asking(let current) = state, current == task { state = .unknown }
            throw error
        }
    }

    /// A name that nothing of the user's is escaped to: a `%` with a letter behind it that is no digit (``RemoteKey``).
    static let prefix = "%probe-"

    /// Whether a name in a listing is that of what was asked with.
    static func owns(_ segment: String) -> Bool { segment.hasBytePrefix(prefix) }
}
