import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// A server whose answers a test scripts, byte by byte.
final class ScriptedServer: Sendable {
    /// A request that the server has received.
    struct Request: Sendable {
        var method: String
        var uri: String
        var headers: [String: String]
        var body = Data()
    }

    enum Step: Sendable {
        case send(String)
        case close
        /// Closes the connection without a closing message of TLS.
        case cut
    }

    let port: Int
    private let channel: any Channel
    private let log: Log

    /// The requests so far.
    var requests: [Request] { log.requests.withLock { $0 } }

    /// - Parameter reply: the steps to carry out when a whole request has arrived. Without steps, the request stalls.
    init(tls: NIOSSLContext? = nil, reply: @escaping @Sendable (Request) -> [Step]) async throws {
        let log = Log()
        let answer: @Sendable (Request) -> [Step] = { request in
            log.requests.withLock { $0.append(request) }
            return reply(request)
        }
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.addHandler(
                        ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes))
                    )
                    try channel.pipeline.syncOperations.addHandler(Handler(answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
        self.log = log
    }

    deinit { channel.close(promise: nil) }

    private final class Log: Sendable {
        let requests = Mutex<[Request]>([])
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = ByteBuffer

        private let reply: @Sendable (Request) -> [Step]
        private var request: Request?

        init(_ reply: @escaping @Sendable (Request) -> [Step]) { self.reply = reply }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                let headers = head.headers.map { ($0.name.lowercased(), $0.value) }
                request = Request(
                    method: head.method.rawValue,
                    uri: head.uri,
                    headers: Dictionary(headers, uniquingKeysWith: { $0 + "," + $1 })
                )
            case .body(let buffer): request?.body.append(contentsOf: buffer.readableBytesView)
            case .end:
                guard let request else { return }
                for step in reply(request) {
                    switch step {
                    case .send(let text): context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
                    case .close: context.close(promise: nil)
                    case .cut:
                        // The connection is closed below TLS, because TLS would send a closing message.
                        let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
                        (tls ?? context).close(promise: nil)
                    }
                }
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}

extension ScriptedServer.Step {
    /// A complete answer.
    static func answer(_ status: Int, _ headers: [String: String] = [:], _ body: String = "") -> [Self] {
        let lines = headers.map { "\($0.key): \($0.value)\r\n" }.joined()
        return [.send("HTTP/1.1 \(status) Status\r\nContent-Length: \(body.utf8.count)\r\n\(lines)\r\n\(body)")]
    }

    /// An error answer of S3.
    static func error(_ status: Int, _ code: String, _ headers: [String: String] = [:]) -> [Self] {
        answer(status, headers, "<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>Words.</Message></Error>")
    }
}
