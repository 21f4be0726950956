import Strata

/// Executes the lines that the user types.
struct Commands: Sendable {
    enum Next { case goOn, quit }

    static let help = """
        @NAME TEXT    send TEXT to NAME
        /who          list the users that are here
        /waiting      list the waiting messages, with reasons
        /retry NAME   retry failed messages
        /trust NAME   accept the current key of NAME, and retry
        /quit         quit; waiting messages are sent the next time
        """

    let store: ChatStore
    let connection: Connection
    let screen: Screen
    let changed: Bell

    func obey(_ line: String) async throws -> Next {
        let line = line.trimmingPrefix { $0.isWhitespace }
        let words = line.split(maxSplits: 1) { $0.isWhitespace }
        let rest = words.count == 2 ? String(words[1]) : ""
        switch words.first {
        case nil: break
        case "/quit": return .quit
        case "/who": try await who()
        case "/waiting": try await waiting()
        case "/retry":
            guard let name = name(rest) else { break }
            let count = try await store.retry(name)
            screen.note(count == 0 ? "nothing has failed" : "retried: \(count)")
        case "/trust":
            guard let name = name(rest) else { break }
            try await store.trust(name)
            screen.note("exchanging keys with \(name) again")
        case let word? where word.hasPrefix("@"):
            try await send(rest, to: String(word.dropFirst()))
        default:
            for line in Self.help.split(separator: "\n") { screen.note(String(line)) }
        }
        return .goOn
    }

    private func send(_ text: String, to word: String) async throws {
        guard let name = name(word) else { return }
        guard !text.isEmpty else { return screen.note("the message is empty") }
        guard text.utf8.count <= Parcel.messageLimit else {
            return screen.note("the message has \(text.utf8.count) bytes, and the limit is \(Parcel.messageLimit)")
        }
        try await store.send(text, to: name)
        await connection.watch(name)
        changed.ring()
    }

    private func name(_ word: String) -> String? {
        guard UserName.isValid(word) else {
            screen.note("\"\(word)\" is not a valid name")
            return nil
        }
        guard word != store.user else {
            screen.note("this is your own name")
            return nil
        }
        return word
    }

    private func who() async throws {
        let names = try await store.buddyNames()
        guard let here = connection.here else { return screen.note("there is no connection to the server") }
        if names.isEmpty { screen.note("you have not written to another user yet") }
        for name in names { screen.note("\(name) is \(here.contains(name) ? "here" : "not here")") }
    }

    private func waiting() async throws {
        let queues = try await Waiting(store: store, connection: connection).queues(entries: 5)
        if queues.isEmpty { screen.note("nothing is waiting") }
        for queue in queues {
            screen.note(queue.line)
            for (place, entry) in queue.entries.enumerated() { screen.note("  \(place + 1). \(entry)") }
            if queue.more > 0 { screen.note("  and \(queue.more) more") }
        }
    }
}
