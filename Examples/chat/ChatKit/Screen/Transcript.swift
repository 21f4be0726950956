import Strata

/// Shows the conversations, in the order of their places in the store.
///
/// What is shown is always a beginning of what is stored: a message is shown after the commit that has stored it, and
/// once by each run of the client. What was stored when a run ended, and perhaps not shown, is at the head of the next
/// one.
struct Transcript: Sendable {
    let store: ChatStore
    let screen: Screen
    /// How many earlier messages a run begins with.
    let last: Int

    func run() async throws {
        let changes = store.stack.changes(of: Message.self)
        let newest = try await store.stack.background { context in try context.last(Message.byPlace)?.place ?? 0 }
        var place = max(0, newest - last)
        if place > 0 { screen.note("\(place) earlier messages are not shown") }
        try await show(after: &place)
        screen.note("\(place == 1 ? "1 message" : "\(place) messages") from before")
        for try await change in changes where !change.inserted.isEmpty {
            try await show(after: &place)
        }
    }

    private func show(after place: inout Int) async throws {
        let shown = place
        let rows = try await store.stack.background { context in
            try context.fetch(Message.byPlace.where { $0.place > shown }.with { $0.buddy })
                .map { ($0.place, $0.sender, $0.buddy?.name ?? "", $0.text) }
        }
        for (next, sender, buddy, text) in rows {
            try screen.show(sender == store.user ? "to \(buddy): \(text)" : "\(sender): \(text)")
            place = next
        }
    }
}
