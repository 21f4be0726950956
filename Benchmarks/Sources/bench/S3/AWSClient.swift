import Foundation

/// The command-line client of AWS.
struct AWSClient {
    let server: S3Server
    let folder: URL
    /// In bytes: what is larger is sent in parts of that size.
    let partSize: Int64

    /// Copies a file into the bucket.
    ///
    /// - Returns: the seconds from the start of the program to its end.
    func copy(_ file: URL, to path: String) async throws -> Double {
        let configuration = folder.appending(path: "aws.config")
        let text = "[default]\ns3 =\n  multipart_threshold = \(partSize)\n  multipart_chunksize = \(partSize)\n"
        try text.write(to: configuration, atomically: true, encoding: .utf8)
        let process = Process()
        process.executableURL = URL(filePath: try Program.find("aws"))
        process.arguments = [
            "--endpoint-url", server.url, "s3", "cp", "--only-show-errors", file.path,
            "s3://\(S3Server.bucket)/\(path)",
        ]
        process.environment = ProcessInfo.processInfo.environment.merging([
            "AWS_ACCESS_KEY_ID": S3Server.accessKey, "AWS_SECRET_ACCESS_KEY": S3Server.secretKey,
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_CONFIG_FILE": configuration.path,
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        ]) { _, own in own }
        process.standardInput = FileHandle.nullDevice
        let log = folder.appending(path: "aws.log")
        let watch = Stopwatch()
        let status = await (try Program.start(process, log: log)).value
        let seconds = watch.seconds
        guard status == 0 else {
            throw BenchError("aws s3 cp: \((try? String(contentsOf: log, encoding: .utf8)) ?? "\(status)")")
        }
        return seconds
    }
}
