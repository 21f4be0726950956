import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import StrataCloud
import StrataHTTP
import Synchronization
import Testing

/// A server that accepts connections and breaks them.
final class BreakingServer: Sendable {
    /// How the server breaks each connection.
    enum Break: Sendable, CaseIterable {
        case closedAtOnce
        case resetAtOnce
        /// The connection breaks when the first bytes of the request have arrived. Its body may still be on its way.
        case closedInRequest
        case resetInRequest
        case closedInHead
        case closedInBody
        case resetInBody
        /// The connection breaks in a body whose end is the end of the connection.
        case closedInDocument
        case closedInChunk
        /// The connection breaks in a header field.
        case closedInHeaders
    }

    let port: Int
    private let channel: any Channel
    private let connections: Counter

    /// The number of connections so far.
    var count: Int { connections.count.withLock { $0 } }

    private final class Counter: Sendable {
        let count = Mutex(0)
    }

    init(_ kind: Break, status: Int = 207) async throws {
        let connections = Counter()
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                connections.count.withLock { $0 += 1 }
                let isReset = kind.isReset
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(kind, status))
                }.flatMap {
                    // Closing the socket without lingering resets the connection.
                    guard isReset, let socket = channel as? any SocketOptionProvider else {
                        return channel.eventLoop.makeSucceededVoidFuture()
                    }
                    return socket.setSoLinger(linger(l_onoff: 1, l_linger: 0))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
        self.connections = connections
    }

    deinit { channel.close(promise: nil) }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let kind: Break
        private let status: Int
        private var received = ByteBuffer()

        init(_ kind: Break, _ status: Int) { (self.kind, self.status) = (kind, status) }

        func channelActive(context: ChannelHandlerContext) {
            if kind == .closedAtOnce || kind == .resetAtOnce { context.close(promise: nil) }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var data = unwrapInboundIn(data)
            received.writeBuffer(&data)
            let head = "HTTP/1.1 \(status) Multi-Status\r\n"
            switch kind {
            case .closedAtOnce, .resetAtOnce: return
            case .closedInRequest, .resetInRequest: context.close(promise: nil)
            case .closedInHead: answer(String(head.prefix(10)), context)
            case .closedInHeaders: answer(head + "Content-Ty", context)
            case .closedInBody, .resetInBody: answer(head + "ETag: \"1\"\r\nContent-Length: 100\r\n\r\n<?xml", context)
            case .closedInChunk:
                answer(head + "ETag: \"1\"\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n<?xml", context)
            case .closedInDocument:
                let document = "<?xml version=\"1.0\"?><D:multistatus xmlns:D=\"DAV:\"><D:response><D:href>/dav/a</D:hr"
                answer(head + "Connection: close\r\n\r\n" + document, context)
            }
        }

        private func answer(_ text: String, _ context: ChannelHandlerContext) {
            guard String(buffer: received).contains("\r\n\r\n") else { return }
            let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text))).whenComplete { _ in
                bound.value.close(promise: nil)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

extension BreakingServer.Break {
    var isReset: Bool { [.resetAtOnce, .resetInRequest, .resetInBody].contains(self) }
}

/// A broken connection is reported as such, never as a problem with a file or with credentials.
@Suite(.timeLimit(.minutes(2))) struct BrokenConnectionTests {
    private let key = RemoteKey(["a"])
    private static let codes: Set<RemoteError.Code> = [.unreachable, .answerLost]

    private func check(_ body: () async throws -> some Any, _ what: String) async {
        let error = await failure(body)
        #expect(error.map { Self.codes.contains($0.code) } ?? false, "\(what): \(error?.description ?? "no error")")
    }

    @Test(
        "Requests to a server that breaks the connection have defined errors",
        arguments: BreakingServer.Break.allCases
    )
    func brokenRequests(kind: BreakingServer.Break) async throws {
        let server = try await BreakingServer(kind)
        let dav = try ScriptedRemote.dav(server.port)
        await check({ try await dav.head(key) }, "HEAD")
        await check({ try await dav.list(.root, isRecursive: false, after: nil) }, "LIST")
        let other = try await BreakingServer(kind, status: 200)
        let remote = try ScriptedRemote.s3(other.port)
        await check({ try await remote.list(.root, isRecursive: true, after: nil) }, "LIST of S3")
        // If the head of the answer has arrived, the upload may have succeeded.
        let answersHead: Set<BreakingServer.Break> = [.closedInBody, .resetInBody, .closedInChunk, .closedInDocument]
        if !answersHead.contains(kind) {
            let large = RemoteBody(size: 8 << 20) { range in
                AsyncThrowingStream { continuation in
                    continuation.yield(Data(count: range.count))
                    continuation.finish()
                }
            }
            let sender = try ScriptedRemote.dav(other.port)
            await check({ try await sender.put("x", at: key) }, "PUT")
            await check({ try await sender.put(large, at: key, if: .none) }, "PUT of much")
            await check({ try await sender.delete(key, isFolder: false, if: .none) }, "DELETE")
            await check({ try await sender.createFolder(key) }, "MKCOL")
            await check({ try await sender.get(key, range: nil, if: .none) }, "GET")
        } else if kind == .closedInBody || kind == .resetInBody {
            await check(
                {
                    for try await _ in try await remote.get(key, range: nil, if: .none).chunks {}
                },
                "GET"
            )
        }
        #expect(server.count > 0)
    }

    @Test(
        "A connection that breaks during the TLS handshake is not a certificate error",
        arguments: [BreakingServer.Break.closedAtOnce, .resetAtOnce, .closedInRequest, .resetInRequest]
    )
    func brokenHandshake(kind: BreakingServer.Break)
        async throws
    {
        let server = try await BreakingServer(kind)
        await check({ try await ScriptedRemote.s3(server.port, scheme: "https").put("x", at: key) }, "PUT")
    }

    @Test("TLS that ends inside a body has lost the answer")
    func truncatedTLS() async throws {
        let (authority, context) = try await TransportSecurityTests.certificates()
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"1\"\r\n\r\n"
        let server = try await ScriptedServer(tls: context) { _ in [.send(head + "01234"), .cut] }
        let options = HTTPOptions(certificateAuthorities: authority)
        let remote = try ScriptedRemote.s3(server.port, scheme: "https", options: options)
        await check({ for try await _ in try await remote.get(key, range: nil, if: .none).chunks {} }, "GET")
    }

    @Test(
        "The codes of S3 for connections and pauses are recognized",
        arguments: [(400, "IncompleteBody"), (400, "RequestTimeout"), (503, "SlowDown"), (503, "ServiceUnavailable")]
    )
    func s3Codes(status: Int, code: String) async throws {
        let server = try await ScriptedServer { _ in ScriptedServer.Step.error(status, code) }
        let error = await failure { try await ScriptedRemote.s3(server.port).put("x", at: key) }
        let expected: RemoteError.Code =
            status == 400 ? .answerLost : code == "SlowDown" ? .throttled : .unavailable
        #expect(error?.code == expected)
    }
}
