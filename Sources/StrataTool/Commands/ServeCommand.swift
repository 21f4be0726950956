import ArgumentParser
import Foundation
import Logging
import Strata
import StrataConsole
import StrataInspection

/// `strata serve`: the web console.
struct ServeCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Serves a web console for a store, until it is interrupted.",
        discussion: """
            Prints the address of the console as one line. By default, the address contains a random token, and only \
            this machine reaches the console. Pages are updated when any process commits.
            """
    )

    @OptionGroup var file: StoreArgument

    @Option(help: "The name or address to listen on. Other addresses than those of this machine need a token.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 for any free one.")
    var port = 8080

    @Flag(help: "Let the console change the store: pause pipelines, for example.")
    var allowChanges = false

    @OptionGroup var access: ServeAccess
    @OptionGroup var person: OperatorOptions

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port must be from 0 to 65535.") }
        if host.utf8.isEmpty { throw ValidationError("--host is empty. Name an address, such as 127.0.0.1.") }
        if access.noToken, !isLoopback {
            throw ValidationError("--no-token is only for --host 127.0.0.1, ::1 or localhost.")
        }
    }

    private var isLoopback: Bool { ["127.0.0.1", "::1", "localhost"].containsBytes(of: host) }

    func run(on console: Console) async throws {
        let token = try access.chosenToken()
        let record = try await file.reading { try await $0.storeRecord() }
        if allowChanges {
            try await file.writing(models: record.engineModels) { try await serve($0, token, console) }
        } else {
            try await file.reading(models: record.engineModels) { try await serve($0, token, console) }
        }
    }

    private func serve(_ stack: ContextStack, _ token: String?, _ console: Console) async throws {
        if !isLoopback {
            console.note("The connections to the console are not encrypted. Use a proxy with TLS in other networks.")
        }
        let options = ConsoleOptions(
            title: URL(fileURLWithPath: file.store).lastPathComponent,
            allowsChanges: allowChanges,
            authentication: token.map { ConsoleAuthentication.token($0) } ?? ConsoleAuthentication.none,
            operatorName: person.name,
            allowedHosts: isLoopback ? ["127.0.0.1", "[::1]", "localhost"] : nil,
            logger: Logger(label: "strata") { _ in NoteLogHandler(console: console) }
        )
        let isEverywhere = ["0.0.0.0", "::"].containsBytes(of: host)
        if isEverywhere { console.note("The console listens on all addresses of this machine.") }
        let known = isEverywhere ? Self.machineName() : host
        let name = known.containsByte(of: ":") ? "[\(known)]" : known
        let path = token.map { "/?token=\($0)" } ?? "/"
        do {
            try await StoreConsole(of: stack, options: options).serve(host: host, port: port) { port in
                // Without a reader of the address, the console still works.
                try? console.print("http://\(name):\(port)\(path)")
            }
        } catch let error as CancellationError {
            throw error
        } catch let error as any ProductError {
            throw error
        } catch {
            throw ToolError(failure(error))
        }
    }

    /// Why the server could not start, with advice for the usual reasons.
    private func failure(_ error: any Error) -> String {
        let text = "\(error)"
        // The error of the server has the number of the system's error only in its text.
        func isError(_ number: Int32) -> Bool { text.hasByteSuffix("(errno: \(number))") }
        if isError(EADDRINUSE) { return "The port \(port) is in use. Choose another one with --port." }
        if isError(EACCES) { return "You may not listen on the port \(port). Choose one from 1024 with --port." }
        if isError(EADDRNOTAVAIL) { return "'\(host)' is not an address of this machine. Choose another --host." }
        return "The console cannot listen on '\(host)', port \(port): \(text)"
    }

    /// The name of this machine, for an address; `localhost` for a name that needs escapes.
    private static func machineName() -> String {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return "localhost" }
        let name = bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let isPlain = name.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isPlain && !name.isEmpty ? String(decoding: name, as: UTF8.self) : "localhost"
    }
}

/// The token of a console.
struct ServeAccess: ParsableArguments {
    @Option(
        help: """
            The token that a person enters, of at least 16 letters, digits, dashes and underscores. Other users of \
            this machine can see it in the list of processes; --token-file hides it.
            """
    )
    var token: String?

    @Option(
        help: ArgumentHelp("A file whose first line is the token.", valueName: "file"),
        completion: .file()
    )
    var tokenFile: String?

    @Flag(help: "Serve without a token. Every user of this machine can then use the console.")
    var noToken = false

    func validate() throws {
        let count = (token == nil ? 0 : 1) + (tokenFile == nil ? 0 : 1) + (noToken ? 1 : 0)
        if count > 1 { throw ValidationError("Pass only one of --token, --token-file and --no-token.") }
        if let token, !Self.isGood(token) {
            throw ValidationError("--token needs at least 16 letters, digits, dashes and underscores.")
        }
    }

    /// The token, a random one by default; nil for none.
    ///
    /// - Throws: ``ToolError`` if the file cannot be read, or its token is not good.
    func chosenToken() throws -> String? {
        if noToken { return nil }
        if let token { return token }
        guard let tokenFile else { return SecretText.random() }
        guard let bytes = FileManager.default.contents(atPath: tokenFile), bytes.count <= 4096,
            let text = String(bytes: bytes, encoding: .utf8)
        else { throw ToolError("'\(tokenFile)' cannot be read. Name a file whose first line is the token.") }
        let line = (text.splitAtFirst("\n")?.before ?? text).trimmingCharacters(in: .whitespacesAndNewlines)
        guard Self.isGood(line) else {
            throw ToolError(
                "The first line of '\(tokenFile)' is not a token: at least 16 letters, digits, dashes and underscores."
            )
        }
        return line
    }

    /// Whether a token is long enough, and needs no escapes in an address.
    private static func isGood(_ token: String) -> Bool {
        (16...1024).contains(token.utf8.count)
            && token.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

/// Writes the console's changes and failures to the standard error.
private struct NoteLogHandler: LogHandler {
    let console: Console
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel = Logger.Level.notice

    init(console: Console) { self.console = console }

    func log(event: LogEvent) {
        let values = metadata.merging(event.metadata ?? [:]) { _, new in new }
        let list = values.map { "\($0.key)=\($0.value)" }.sortedByBytes()
        let time = Timestamp.text(Date()) ?? "-"
        console.note(([time, "\(event.level)", event.message.description] + list).joined(separator: " "))
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
}
