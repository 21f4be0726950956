import CBench
import Foundation

/// A server that speaks S3, with one bucket, in a process of its own on loopback: one for each sample, so that all begin alike.
struct S3Server {
    static let bucket = "bench"
    /// The server takes any.
    static let (accessKey, secretKey) = ("test", "test")

    let port: Int

    var url: String { "http://127.0.0.1:\(port)" }

    /// Runs a body beside a server, which ends with it.
    static func run(_ folder: URL, _ body: (S3Server) async throws -> Sample) async throws -> Sample {
        let server = S3Server(port: Int(bench_free_port()))
        guard server.port > 0 else { throw BenchError("there is no free port") }
        let log = folder.appending(path: "server.log")
        let (process, input) = (Process(), Pipe())
        // A shell ends the server when nobody holds the other end of its input any more, however this process ends.
        let keeper = "\"$@\" </dev/null & child=$!; read -r _; kill -KILL $child"
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", keeper, "sh", try Program.find("ministack")]
        process.environment = ProcessInfo.processInfo.environment.merging([
            "BIND_HOST": "127.0.0.1", "GATEWAY_PORT": "\(server.port)", "SERVICES": "s3", "IOT_MTLS_ENABLED": "0",
            "LOG_LEVEL": "ERROR",
        ]) { _, own in own }
        process.standardInput = input
        // Programs that are started meanwhile must not hold it too.
        _ = fcntl(input.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        let end = try Program.start(process, log: log)
        let result: Result<Sample, any Error>
        do {
            try await server.makeBucket(process, log)
            result = .success(try await body(server))
        } catch {
            result = .failure(error)
        }
        try input.fileHandleForWriting.close()
        _ = await end.value
        return try result.get()
    }

    /// Makes the bucket as soon as the server is up, of which a process of somebody else's tells nobody.
    private func makeBucket(_ process: Process, _ log: URL) async throws {
        let client = PlainS3(self)
        var problem = "it has ended"
        let watch = Stopwatch()
        while process.isRunning, watch.seconds < Self.patience {
            do { return try await client.makeBucket() } catch { problem = "\(error)" }
            try await Task.sleep(for: .milliseconds(20))
        }
        let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        throw BenchError("ministack has not come up: \(problem)\n\(text.suffix(2_000))")
    }

    /// How long a server may take to come up, in seconds.
    private static let patience = 60.0
}
