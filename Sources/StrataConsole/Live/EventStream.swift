import Hummingbird
import ServiceLifecycle
import Strata

/// The answer to `events`: server-sent events, each with the number of the newest commit.
///
/// The answer ends when the browser closes the connection, and when the server shuts down.
struct EventStream: Sendable {
    /// The shortest time between two events. Commits in between become one event.
    static let shortestPause = Duration.milliseconds(100)
    /// A comment is sent in this interval, so that proxies do not end an idle connection, and dead ones are noticed.
    static let heartbeatInterval = Duration.seconds(15)

    let feed: CommitFeed

    func response(to request: Request) -> Response {
        Response(
            status: .ok,
            // nginx would otherwise keep the events until its buffer is full.
            headers: [.contentType: "text/event-stream; charset=utf-8", HeaderNames.accelBuffering: "no"],
            body: ResponseBody { writer in
                guard let client = feed.subscribe() else { return try await writer.finish(nil) }
                defer { feed.unsubscribe(client) }
                try await request.body.consumeWithInboundCloseHandler { _ in
                    try await withGracefulShutdownHandler {
                        try await send(to: client, &writer)
                    } onGracefulShutdown: {
                        client.end()
                    }
                } onInboundClosed: {
                    client.end()
                }
                try await writer.finish(nil)
            }
        )
    }

    private func send(to client: CommitFeed.Client, _ writer: inout any ResponseBodyWriter) async throws {
        let heartbeat = Task {
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.heartbeatInterval)
                client.wake()
            }
        }
        defer { heartbeat.cancel() }
        var sent: Int?
        for await _ in client.signals {
            let position = feed.position
            if position.announcements == sent {
                try await writer.write(ByteBuffer(string: ":\n\n"))
            } else {
                sent = position.announcements
                try await writer.write(ByteBuffer(string: "event: commit\ndata: \(position.commit)\n\n"))
                try await Task.sleep(for: Self.shortestPause)
            }
        }
    }
}
