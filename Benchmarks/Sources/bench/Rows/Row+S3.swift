import Foundation

extension Row {
    /// Small files put to a server, eight at once: by the remote alone, or by an account that has them queued.
    ///
    /// Equal: the same requests, signed, with the same headers, on condition that there is nothing, over connections that are kept. The
    /// remote also reads what the answers say; an account makes its folder, writes down what it is about to send, and claims and completes
    /// an operation for each.
    static func smallToS3(_ sizes: Sizes, isPush: Bool) -> Row {
        Row(
            work: isPush ? .pushToS3 : .putToS3,
            name:
                "\(sizes.requests) files of 4 KiB to S3, \(isPush ? "pushed by 8, FULL" : "put by 8") (reference: HTTP)",
            unit: .microseconds,
            target: nil,
            operations: sizes.requests
        ) { round in
            try await S3Server.run(round.folder) { server in
                let client = PlainS3(server)
                let watch = Stopwatch()
                try await StrataSides.byWriters(sizes.requests) { number in
                    let data = StrataSides.bytes(StrataSides.fileSize, number)
                    try await client.put(data, "home/\(number)", mark: "\(number)")
                }
                return Sample(cost: watch.seconds, check: try await Checksum(objectsOf: server))
            }
        }
    }

    /// One large file that an account sends in parts.
    ///
    /// Equal: the size of the parts. The client of AWS sends ten of them at once, and keeps nothing of what has arrived; an account sends four,
    /// and writes each down. Starting the client, and one request, take as long as a copy of an empty file: that is left out.
    static func largeToS3(_ sizes: Sizes) -> Row {
        Row(
            work: .largeToS3,
            name: "\(sizes.large >> 20) MiB to S3, FULL (reference: aws s3 cp but its start)",
            unit: .milliseconds,
            target: nil
        ) { round in
            try await S3Server.run(round.folder) { server in
                let file = try StrataSides.largeFile(round)
                let empty = round.folder.appending(path: "empty")
                try Data().write(to: empty)
                let aws = AWSClient(server: server, folder: round.folder, partSize: StrataSides.partSize)
                let start = try await aws.copy(empty, to: "empty")
                let seconds = try await aws.copy(file, to: "home/large")
                return Sample(cost: seconds - start, check: try await Checksum(objectsOf: server))
            }
        }
    }
}
