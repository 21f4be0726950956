import Foundation

extension Row {
    /// Small files written to a folder, eight at once: by the remote alone, or by an account that has them queued.
    ///
    /// Equal: each file gets its name when it is on the disk, and its folder is on the disk before the next file is begun. The remote also
    /// checks that there is no such file, under a lock; an account claims and completes an operation for each, and keeps what it has heard.
    static func folder(_ sizes: Sizes, isPush: Bool) -> Row {
        Row(
            work: isPush ? .pushToFolder : .putToFolder,
            name: "\(sizes.files) files of 4 KiB to a folder, \(isPush ? "pushed" : "put") by 8, FULL",
            unit: .microseconds,
            target: nil,
            operations: sizes.files
        ) { round in
            let folder = round.folder.appending(path: "plain")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let watch = Stopwatch()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in 0..<StrataSides.writers {
                    group.addTask {
                        try await onThread {
                            for number in stride(from: worker, to: round.sizes.files, by: StrataSides.writers) {
                                try write(StrataSides.bytes(StrataSides.fileSize, number), "\(number)", folder)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            return Sample(cost: watch.seconds, check: try Checksum(files: folder))
        }
    }

    private static func write(_ data: Data, _ name: String, _ folder: URL) throws {
        let (file, new) = (folder.appending(path: name).path, folder.appending(path: ".\(name)").path)
        let descriptor = Foundation.open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else { throw BenchError("cannot make \(new)") }
        defer { close(descriptor) }
        let count = data.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        guard count == data.count, fsync(descriptor) == 0, rename(new, file) == 0 else {
            throw BenchError("cannot write \(new)")
        }
        let above = Foundation.open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { close(above) }
        guard above >= 0, fsync(above) == 0 else { throw BenchError("cannot flush \(folder.path)") }
    }

    /// Runs on a thread that may wait for the disk.
    private static func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }
}

extension Checksum {
    /// The names and the sizes of the files of a folder.
    init(files folder: URL) throws {
        self.init()
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let size = try FileManager.default.attributesOfItem(atPath: folder.appending(path: name).path)[.size]
            var hash = RowHash()
            hash.add(name)
            hash.add((size as? NSNumber)?.intValue ?? -1)
            add(hash)
        }
    }
}
