import AsyncHTTPClient
import Foundation
import NIOCore
import StoreModels

/// The program `press` in a separate process, with a free port.
struct PressProcess: Sendable {
    let process: HelperProcess
    let port: Int

    /// A client that reports at once that a killed service cannot be reached.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Starts the program, and waits until it listens.
    init(_ data: URL, _ settings: String...) async throws {
        process = try HelperProcess(
            helper: "press",
            [
                "serve", "--data-folder", data.path, "--http-port", "0", "--log-level", "critical",
                "--health-minimum-free-bytes", "0",
            ] + settings
        )
        let line = try await process.next()
        guard line.hasPrefix("listening on "), let port = Int(line.split(separator: ":").last ?? "") else {
            throw NotListening(line: line)
        }
        self.port = port
    }

    struct NotListening: Error { let line: String }

    /// Sends a request.
    ///
    /// - Returns: the status and the JSON object; nil if no complete answer has arrived.
    func send(
        _ method: String,
        _ path: String,
        _ json: String? = nil
    ) async -> (status: UInt, id: String?, text: String)? {
        var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)\(path)")
        request.method = .RAW(value: method)
        if let json {
            request.headers.add(name: "Content-Type", value: "application/json")
            request.body = .bytes(ByteBuffer(string: json))
        }
        do {
            let response = try await Self.client.execute(request, timeout: .seconds(30))
            let text = String(buffer: try await response.body.collect(upTo: 1 << 20))
            let object = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any]
            return (response.status.code, object?["id"] as? String, text)
        } catch {
            return nil
        }
    }
}
