/// A setting of `press`.
///
/// Each setting has three names: `--http-port` on the command line, `PRESS_HTTP_PORT` in the environment, and
/// `http.port` in the file, where each part of the name but the last one is an object. The command line comes before the
/// environment, and the environment before the file.
enum SettingKey: String, CaseIterable, Sendable {
    case config
    case dataFolder = "data.folder"
    case homeURL = "home.url"
    case homeSchema = "home.schema"
    case httpHost = "http.host"
    case httpPort = "http.port"
    case httpIdleTimeout = "http.idleTimeout"
    case httpMaximumConnections = "http.maximumConnections"
    case siteAddress = "site.address"
    case pictureMaximumBytes = "pictures.maximumBytes"
    case remoteFolder = "remote.folder"
    case remoteBucket = "remote.bucket"
    case remotePrefix = "remote.prefix"
    case remoteEndpoint = "remote.endpoint"
    case remoteRegion = "remote.region"
    case mailFolder = "mail.folder"
    case mailSender = "mail.sender"
    case digestSchedule = "digest.schedule"
    case digestTimeZone = "digest.timeZone"
    case consoleToken = "console.token"
    case consoleEditor = "console.editor"
    case eventsMaximumClients = "events.maximumClients"
    case eventsHeartbeat = "events.heartbeat"
    case shutdownGrace = "shutdown.grace"
    case healthMinimumFreeBytes = "health.minimumFreeBytes"
    case logLevel = "log.level"
    case articles

    /// The names of the objects of the file and of the value in them.
    var path: [String] { rawValue.split(separator: ".").map { String($0) } }

    /// Whether the value is a whole number. Other values are texts.
    var isNumber: Bool {
        switch self {
        case .httpPort, .httpIdleTimeout, .httpMaximumConnections, .pictureMaximumBytes, .eventsMaximumClients,
            .eventsHeartbeat, .shutdownGrace, .healthMinimumFreeBytes, .articles:
            true
        default: false
        }
    }

    /// The name on the command line.
    var flag: String { "--" + words("-").lowercased() }

    /// The name in the environment.
    var variable: String { "PRESS_" + words("_").uppercased() }

    /// The words of the name, divided by a separator.
    private func words(_ separator: String) -> String {
        rawValue.reduce(into: "") { words, letter in
            if letter == "." {
                words += separator
            } else {
                words += letter.isUppercase ? separator + String(letter) : String(letter)
            }
        }
    }

    /// The meaning, and the default in brackets.
    var help: String {
        switch self {
        case .config: "a JSON file with settings [none]"
        case .dataFolder: "the folder of the store and the pictures [$STATE_DIRECTORY, or your data folder]"
        case .homeURL: "the PostgreSQL database of a store that several nodes share; data.folder has the copy [none]"
        case .homeSchema: "the schema of the store in this database [press]"
        case .httpHost: "the address to listen on [127.0.0.1]"
        case .httpPort: "the port to listen on; 0 chooses a free port [8080]"
        case .httpIdleTimeout: "the seconds after which an idle connection is closed [60]"
        case .httpMaximumConnections: "the greatest number of open connections [4096, or half of the open files]"
        case .siteAddress: "the address of the site, for links in mails [http://127.0.0.1:8080]"
        case .pictureMaximumBytes: "the largest picture, in bytes [10485760]"
        case .remoteFolder: "the folder that pictures are mirrored to [mirror, in the data folder; none with home.url]"
        case .remoteBucket: "the S3 bucket that pictures are mirrored to, instead of a folder [none]"
        case .remotePrefix: "the folder in the bucket [the bucket itself]"
        case .remoteEndpoint: "the address of the S3 server [AWS]"
        case .remoteRegion: "the region of the S3 server [from the AWS settings]"
        case .mailFolder: "the folder that mails are written to [mail, in the data folder]"
        case .mailSender: "the sender of mails [press@localhost]"
        case .digestSchedule: "the time of the digest, as in crontab(5) [0 6 * * *]"
        case .digestTimeZone: "the time zone of the digest [GMT]"
        case .consoleToken: "the token of the console at /console, of 16 bytes or more; without it, no console [none]"
        case .consoleEditor: "the name under which the console changes the store; without it, it only reads [none]"
        case .eventsMaximumClients: "the greatest number of clients of /events [1000, or half of the connections]"
        case .eventsHeartbeat: "the seconds between signs of life on /events [15]"
        case .shutdownGrace: "the seconds in which requests and operations may end [20]"
        case .healthMinimumFreeBytes: "the free space, in bytes, below which the service is not ready [104857600]"
        case .logLevel: "trace, debug, info, notice, warning, error or critical [info]"
        case .articles: "for seed: the number of articles [1000]"
        }
    }

    /// The table of all settings, for `press --help`.
    static var table: String {
        let width = allCases.map(\.flag.count).max() ?? 0
        return allCases.map { key in
            "  " + key.flag + String(repeating: " ", count: width - key.flag.count + 2) + key.help
        }
        .joined(separator: "\n")
    }

    /// Reads the command line, and finds words that are not settings. The package swift-configuration ignores such
    /// words, so a misspelt setting would have no effect. The package also divides values at commas.
    ///
    /// - Parameter arguments: the words after the command.
    /// - Returns: the values by their flags.
    /// - Throws: ``SettingsError``.
    static func values(in arguments: some Sequence<String>) throws -> [String: String] {
        let known = Set(allCases.map(\.flag))
        var awaiting: String?
        var given: Set<String> = []
        var values: [String: String] = [:]
        for argument in arguments {
            guard argument.hasPrefix("--") else {
                guard let flag = awaiting else { throw SettingsError("\"\(argument)\" does not belong to a setting.") }
                values[flag] = argument
                awaiting = nil
                continue
            }
            if let awaiting { throw SettingsError("\(awaiting) needs a value.") }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let flag = String(parts[0])
            guard known.contains(flag) else { throw SettingsError("\(flag) is not a setting.") }
            guard given.insert(flag).inserted else { throw SettingsError("\(flag) is given more than once.") }
            awaiting = parts.count == 1 ? flag : nil
            if parts.count == 2 { values[flag] = String(parts[1]) }
        }
        if let awaiting { throw SettingsError("\(awaiting) needs a value.") }
        return values
    }
}

/// A setting that is missing or wrong.
struct SettingsError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
