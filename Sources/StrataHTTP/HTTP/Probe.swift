import Strata
import StrataRemotes

/// Tests a server's capabilities once, and remembers the result.
actor Probe {
    /// The result of a probe.
    struct Findings: Sendable {
        var capabilities: RemoteCapabilities
        /// Whether the server expects versions in `If-Match` without quotes.
        var hasBareTags = false
        /// Whether the server evaluates `If-Match`, even if two versions of the same moment have the same tag.
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

    /// The known result. Nil if no probe has completed.
    var known: Findings? {
        if case .known(let findings) = state { findings } else { nil }
    }

    /// Returns the known result, or probes the server.
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
            // The next call probes again, unless another call has started a new probe already.
            if case .asking(let current) = state, current == task { state = .unknown }
            throw error
        }
    }

    /// The prefix of probe objects. No escaped user name begins with it, because an escape has a hexadecimal digit
    /// after `%` (``RemoteKey``).
    static let prefix = "%probe-"

    /// Whether a name in a listing belongs to a probe object.
    static func owns(_ segment: String) -> Bool { segment.hasBytePrefix(prefix) }
}
