import Foundation
import Strata
import StrataCloud
import StrataPipeline

/// A store with something for every page of the console: objects, commits of several authors, operations in each state,
/// dependencies, schedules, changed settings, and an account.
enum SampleStore {
    static let models: [any Model.Type] = [Album.self, Photo.self] + CloudAccount.models

    static func open(_ url: URL) async throws -> ContextStack {
        try await ContextStack.open(.sqlite(url), models: models, stack: .rootOnly, author: "sample")
    }

    static func make(_ url: URL) async throws {
        let stack = try await open(url)
        try await addPhotos(stack)
        try await runPhotos(stack)
        try await runLetters(stack)
        try await queue(stack)
        try await changeSettings(stack)
        try await addAccount(to: stack, beside: url, path: "/letters/ada.txt")
        try await stack.close()
    }

    private static func addPhotos(_ stack: ContextStack) async throws {
        for (name, author) in [("Engines", "ada"), ("Compilers", "grace"), ("Looms", "ada")] {
            try await stack.background { context in
                context.author = author
                let album = context.insert(Album(name: name))
                for number in 1...3 {
                    context.insert(Photo(title: "\(name) \(number)", width: 1000 * number, album: album))
                }
                try context.commit()
            }
        }
    }

    /// Runs operations without lanes, two of which fail.
    private static func runPhotos(_ stack: ContextStack) async throws {
        try await stack.background { context in
            for file in ["lovelace.jpg", "broken.jpg", "hopper.jpg", "torn.jpg", "turing.jpg"] {
                context.enqueue(Resize(file: file, width: 100), in: "photos", tags: ["import"])
            }
            try context.commit()
        }
        let options = PipelineOptions(maxConcurrent: 4, rateLimit: RateLimit(600, per: .seconds(60)), retry: .never)
        let pipeline = try await Pipeline.open(
            stack,
            named: "photos",
            options: options
        ) { (attempt: Attempt<Resize>) in
            let file = attempt.payload.file
            if file == "broken.jpg" || file == "torn.jpg" { return .fail("'\(file)' is not an image.") }
            return .done
        }
        try await pipeline.waitUntilIdle()
        await pipeline.close()
    }

    /// Runs operations in lanes, one of which is then blocked by a failure.
    private static func runLetters(_ stack: ContextStack) async throws {
        try await stack.background { context in
            for lane in ["ada", "grace", "linus"] {
                for number in 1...3 {
                    context.enqueue(Letter(text: "letter \(number) to \(lane)"), in: "letters", lane: lane)
                }
            }
            try context.commit()
        }
        let options = PipelineOptions(ordering: .fifo, maxConcurrent: 2, retry: .never)
        let pipeline = try await Pipeline.open(
            stack,
            named: "letters",
            options: options
        ) { (attempt: Attempt<Letter>) in
            if attempt.lane == "grace" { return .fail("The address is unknown.") }
            return .done
        }
        try await pipeline.waitUntilIdle()
        await pipeline.close()
    }

    /// Queues operations that wait: for their turn, for each other, for a date and for a person.
    private static func queue(_ stack: ContextStack) async throws {
        try await stack.background { context in
            let tomorrow = Date(timeIntervalSinceNow: 86_400)
            var photos: [QueuedOperation] = []
            for number in 1...5 {
                let payload = Resize(file: "photo-\(number).jpg", width: 100)
                photos.append(context.enqueue(payload, in: "photos", priority: number, tags: ["import"]))
            }
            let report = context.enqueue(Letter(text: "All photos have their sizes."), in: "letters", lane: "ada")
            try report.addDependencies(photos)
            let answer = context.enqueue(Letter(text: "Thank you."), in: "letters", lane: "linus")
            try answer.addDependencies([report])
            context.enqueue(Resize(file: "later.jpg", width: 100), in: "photos", notBefore: tomorrow)
            let checked = context.enqueue(Resize(file: "checked.jpg", width: 100), in: "photos")
            try checked.hold("review", until: tomorrow)
            context.enqueue(Letter(text: "photos.tar"), in: "backups", key: "photos")
            let nightly = Letter(text: "all.tar")
            try context.schedule("nightly backup", nightly, in: "backups", .cron("0 3 * * *"))
            try context.commit()
        }
    }

    private static func changeSettings(_ stack: ContextStack) async throws {
        try await stack.updatePipelineSettings(of: "backups", by: "grace") { $0.isPaused = true }
        try await stack.updatePipelineSettings(of: "letters", by: "ada") { $0.maxConcurrent = 3 }
    }

    // MARK: Accounts

    /// Provides the same text for each file.
    private struct Handler: CloudHandler {
        func content(for request: ContentRequest) async throws -> RemoteBody? { RemoteBody(Data("Hello".utf8)) }
    }

    /// Adds an account with an uploaded file, which is marked for download, and one that waits for its upload.
    ///
    /// - Parameter path: the path of the uploaded file.
    static func addAccount(to stack: ContextStack, beside url: URL, path: TreePath) async throws {
        let remote = try FolderRemote(URL(fileURLWithPath: url.path + "-remote"), isDurable: false)
        let account = try await CloudAccount.open(stack, id: "alice", remote: remote, handler: Handler())
        try await stack.background { context in
            _ = try context.cloud(account).createNode(at: path)
            try context.commit()
        }
        try await account.waitUntilIdle()
        await account.close()
        try await stack.background { context in
            let cloud = try context.cloud(accountID: "alice")
            _ = try cloud.createNode(at: "/letters/grace.txt", size: 2000)
            try cloud.markNeedsDownload(cloud.node(at: path), .data)
            try context.commit()
        }
    }
}
