import Strata

/// Shows the conversations, in the order of the messages' places in the store.
///
/// The shown messages are always a prefix of the stored ones. A message is shown after the commit that stores it, and
/// once in each run of the client. A message that was stored at the end of a run, but perhaps not shown, appears at the
/// start of the next run.
struct Transcript: Sendable {
    let store: ChatStore
    let screen: Screen
    /// The number of earlier messages to show at the start.
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
            try context.fetch(Message.byPlace.where { $0.place > shown }.including { $0.buddy })
                .map { ($0.place, $0.sender, $0.buddy?.name ?? "", $0.text) }
        }
        for (next, sender, buddy, text) in rows {
            try screen.show(sender == store.user ? "to \(buddy): \(text)" : "\(sender): \(text)")
            place = next
        }
    }
}
