import Configuration
import ExampleFolders
import Foundation
import Logging
import Strata
import StrataCloud
import StrataHTTP
import StrataPipeline
import StrataPostgres

/// The settings of the service.
struct PressSettings: Sendable {
    /// The remote that pictures are mirrored to.
    enum Mirror: Sendable {
        case folder(URL)
        case s3(bucket: String, prefix: [String], endpoint: URL?, region: String?)
    }

    /// The home of a store that several nodes share.
    struct HomeSettings: Sendable {
        /// A connection string of libpq, or a URI such as `postgresql://press@db.internal/press`. May contain a password.
        var url: String
        /// The schema of the store in the database.
        var schema = "press"

        /// - Throws: `StrataError` for an invalid connection string or name.
        func makeHome() throws -> any StoreHome { try PostgresHome(url, store: schema) }
    }

    /// The console at `/console`.
    struct ConsoleSettings: Sendable {
        /// The secret that an operator enters.
        var token: String
        /// The author of changes; nil if the console may only read.
        var editor: String?
    }

    /// The folder of the store, of the pictures, and of the remains of interrupted uploads.
    var dataFolder: URL
    /// The home of the store; nil if this service is alone, and the store is a file.
    var home: HomeSettings?
    var host = "127.0.0.1"
    var port = 8080
    var idleTimeout = 60
    /// The greatest number of open connections; further ones wait until others are closed.
    ///
    /// At most half of the files that the process may open, because without a free file, the server would end.
    var maximumConnections = Self.defaultConnections
    var siteAddress = "http://127.0.0.1:8080"
    /// The largest body of a request, in bytes, except for pictures.
    var maximumBodyBytes = 1_048_576
    var maximumPictureBytes = 10_485_760
    var maximumPicturesOfArticle = 50
    var mirror: Mirror
    var mailFolder: URL
    var mailSender = "press@localhost"
    var mailRetry = RetryPolicy(maxAttempts: 20, base: .seconds(5), cap: .seconds(3600))
    var digestSchedule = "0 6 * * *"
    var digestTimeZone = TimeZone.gmt
    /// The console for operators; nil for none.
    var console: ConsoleSettings?
    /// The greatest number of clients that follow events, at most half of the connections. Each of them keeps its
    /// connection, and other requests must find free ones.
    var maximumEventClients = min(1000, Self.defaultConnections / 2)
    var eventHeartbeat = Duration.seconds(15)
    var shutdownGrace = Duration.seconds(20)
    var minimumFreeBytes: Int64 = 104_857_600
    var logLevel = Logger.Level.info
    /// The number of articles that `press seed` writes.
    var articles = 1000

    private static let defaultConnections = min(4096, sysconf(Int32(_SC_OPEN_MAX)) / 2)

    /// The default settings for a folder of data.
    init(dataFolder: URL) {
        self.dataFolder = dataFolder
        mirror = .folder(dataFolder.appending(path: "mirror"))
        mailFolder = dataFolder.appending(path: "mail")
    }

    /// - Throws: ``SettingsError`` if the folder of the data does not exist, and cannot be created.
    func makeDataFolder() throws {
        do {
            try FileManager.default.createDirectory(at: dataFolder, withIntermediateDirectories: true)
        } catch {
            throw SettingsError("The folder \(dataFolder.path) cannot be created. Check data.folder.")
        }
    }

    var store: URL { dataFolder.appending(path: "press.sqlite") }

    /// Reads the settings from the command line, the environment and the file that these two name.
    ///
    /// - Parameter arguments: the command line. Its first word is the name of the program, its second word the command.
    /// - Throws: ``SettingsError`` for an unknown, missing or invalid value, or a file that cannot be read.
    init(arguments: [String], environment: [String: String]) async throws {
        let words = arguments.dropFirst(2)
        let values = try SettingKey.values(in: words)
        try SettingSources.check(environment: environment)
        var providers: [any ConfigProvider] = [
            CommandLineArgumentsProvider(arguments: ["press"] + words),
            EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "press"),
        ]
        let first = SettingReader(values: values, config: ConfigReader(providers: providers))
        if let file = try await first.text(.config) {
            try SettingSources.check(file: file)
            do {
                providers.append(try await FileProvider<JSONSnapshot>(filePath: .init(file)))
            } catch {
                throw SettingsError("The file \(file) cannot be read: \(error)")
            }
        }
        let reader = SettingReader(values: values, config: ConfigReader(providers: providers))
        self.init(dataFolder: try await reader.text(.dataFolder).map { URL(filePath: $0) } ?? Self.folder(environment))
        try await read(reader)
    }

    /// The folder that systemd has made for the service, or a folder of the user.
    private static func folder(_ environment: [String: String]) -> URL {
        if let folder = environment["STATE_DIRECTORY"], !folder.isEmpty { return URL(filePath: folder) }
        return UserFolder.data.url(environment: environment).appending(path: "strata-press")
    }

    private mutating func read(_ reader: SettingReader) async throws {
        host = try await reader.text(.httpHost) ?? host
        port = try await reader.number(.httpPort, in: 0...65_535) ?? port
        idleTimeout = try await reader.number(.httpIdleTimeout, in: 1...86_400) ?? idleTimeout
        maximumConnections =
            try await reader.number(.httpMaximumConnections, in: 1...1_000_000) ?? maximumConnections
        siteAddress = try await reader.text(.siteAddress) ?? siteAddress
        maximumPictureBytes =
            try await reader.number(.pictureMaximumBytes, in: 1...1_073_741_824) ?? maximumPictureBytes
        mailFolder = try await reader.text(.mailFolder).map { URL(filePath: $0) } ?? mailFolder
        mailSender = try await reader.text(.mailSender) ?? mailSender
        guard MailAddress.isValid(.text(mailSender)) else { throw SettingsError("mail.sender is not an address.") }
        digestSchedule = try await reader.text(.digestSchedule) ?? digestSchedule
        guard (try? Schedule.cron(digestSchedule)) != nil else {
            throw SettingsError("digest.schedule must be a time as in crontab(5), not \"\(digestSchedule)\".")
        }
        if let name = try await reader.text(.digestTimeZone) {
            guard let zone = TimeZone(identifier: name) else {
                throw SettingsError("digest.timeZone must be a time zone such as Europe/Berlin, not \"\(name)\".")
            }
            digestTimeZone = zone
        }
        try await readEventClients(reader)
        eventHeartbeat =
            try await reader.number(.eventsHeartbeat, in: 1...3600).map { Duration.seconds($0) } ?? eventHeartbeat
        shutdownGrace =
            try await reader.number(.shutdownGrace, in: 0...3600).map { Duration.seconds($0) } ?? shutdownGrace
        minimumFreeBytes =
            try await reader.number(.healthMinimumFreeBytes, in: 0...Int.max).map { Int64($0) } ?? minimumFreeBytes
        if let name = try await reader.text(.logLevel) {
            guard let level = Logger.Level(rawValue: name) else {
                throw SettingsError("log.level must be a level such as info, not \"\(name)\".")
            }
            logLevel = level
        }
        articles = try await reader.number(.articles, in: 0...100_000_000) ?? articles
        console = try await Self.console(reader)
        try await readMirror(reader)
        home = try await Self.home(reader)
    }

    private static func home(_ reader: SettingReader) async throws -> HomeSettings? {
        let schema = try await reader.text(.homeSchema)
        guard let url = try await reader.text(.homeURL) else {
            guard schema == nil else { throw SettingsError("home.schema needs home.url.") }
            return nil
        }
        var home = HomeSettings(url: url)
        home.schema = schema ?? home.schema
        do {
            _ = try home.makeHome()
        } catch let error as StrataError {
            // The message does not contain the connection string, which may have a password.
            throw SettingsError("home.url or home.schema is not valid. \(error.message)")
        }
        // The folder in data.folder would be another one on each node.
        let remotes = (try await reader.text(.remoteFolder), try await reader.text(.remoteBucket))
        guard remotes.0 != nil || remotes.1 != nil else {
            throw SettingsError("home.url needs remote.bucket or remote.folder, which all nodes share.")
        }
        return home
    }

    private mutating func readEventClients(_ reader: SettingReader) async throws {
        let half = maximumConnections / 2
        maximumEventClients = try await reader.number(.eventsMaximumClients, in: 0...100_000) ?? min(1000, half)
        guard maximumEventClients <= half else {
            throw SettingsError(
                "events.maximumClients must be at most half of http.maximumConnections, which is \(half), "
                    + "not \(maximumEventClients)."
            )
        }
    }

    private static func console(_ reader: SettingReader) async throws -> ConsoleSettings? {
        let editor = try await reader.text(.consoleEditor)
        guard let token = try await reader.text(.consoleToken) else {
            guard editor == nil else { throw SettingsError("console.editor needs console.token.") }
            return nil
        }
        guard token.utf8.count >= 16 else { throw SettingsError("console.token must have 16 bytes or more.") }
        guard editor?.isEmpty != true else { throw SettingsError("console.editor must not be empty.") }
        return ConsoleSettings(token: token, editor: editor)
    }

    private mutating func readMirror(_ reader: SettingReader) async throws {
        let folder = try await reader.text(.remoteFolder)
        guard let bucket = try await reader.text(.remoteBucket) else {
            for key in [SettingKey.remotePrefix, .remoteEndpoint, .remoteRegion] {
                guard try await reader.text(key) == nil else {
                    throw SettingsError("\(key.rawValue) needs remote.bucket.")
                }
            }
            if let folder { mirror = .folder(URL(filePath: folder)) }
            return
        }
        guard folder == nil else { throw SettingsError("Set either remote.folder or remote.bucket.") }
        let prefix = try await reader.text(.remotePrefix) ?? ""
        let endpoint = try await reader.text(.remoteEndpoint)
        let url = endpoint.flatMap { URL(string: $0) }
        guard endpoint == nil || url?.host() != nil else {
            throw SettingsError("remote.endpoint must be a URL such as https://s3.example.com.")
        }
        mirror = .s3(
            bucket: bucket,
            prefix: prefix.split(separator: "/").map(String.init),
            endpoint: url,
            region: try await reader.text(.remoteRegion)
        )
    }
}

/// Reads single settings. A value of the wrong type is an error, not a missing value.
private struct SettingReader {
    /// The values of the command line by their flags.
    let values: [String: String]
    let config: ConfigReader

    func text(_ key: SettingKey) async throws -> String? {
        // The package would take a text with a comma for a list.
        if let value = values[key.flag] { return value }
        do {
            return try await config.fetchString(forKey: ConfigKey(key.rawValue))
        } catch {
            throw SettingsError("\(key.rawValue) must be a single text.")
        }
    }

    func number(_ key: SettingKey, in range: ClosedRange<Int>) async throws -> Int? {
        let number: Int?
        do {
            number = try await config.fetchInt(forKey: ConfigKey(key.rawValue))
        } catch {
            throw SettingsError("\(key.rawValue) must be a whole number.")
        }
        guard let number else { return nil }
        guard range.contains(number) else {
            throw SettingsError(
                "\(key.rawValue) must be from \(range.lowerBound) to \(range.upperBound), not \(number)."
            )
        }
        return number
    }
}

extension PressSettings {
    /// Creates the remote of the pictures, and the object that reports whether its server can be reached.
    func makeRemote(environment: [String: String]) throws -> (any Remote, Reachability?) {
        switch mirror {
        case .folder(let folder): return (try FolderRemote(folder), nil)
        case .s3(let bucket, let prefix, let endpoint, let region):
            let location = try S3Location(
                bucket: bucket,
                prefix: RemoteKey(prefix),
                endpoint: endpoint,
                region: region,
                environment: environment
            )
            return (try S3Remote(location), location.endpoint.host.map { Reachability(host: $0) })
        }
    }
}
