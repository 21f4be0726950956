import Foundation
import StoreModels
import Testing

@testable import PressKit

@Suite("Settings of press") struct SettingsTests {
    @Test("The command line comes before the environment, and the environment before the file")
    func order() async throws {
        let scratch = try ScratchFolder()
        let file = scratch.file("press.json")
        try #"{"http": {"port": 1, "host": "file", "idleTimeout": 3}, "mail": {"sender": "a@file"}}"#
            .write(to: file, atomically: true, encoding: .utf8)
        let settings = try await PressSettings(
            arguments: ["press", "serve", "--config", file.path, "--http-port=3"],
            environment: ["PRESS_HTTP_PORT": "2", "PRESS_HTTP_HOST": "environment", "HOME": "/home/ada"]
        )
        #expect(settings.port == 3)
        #expect(settings.host == "environment")
        #expect(settings.idleTimeout == 3)
        #expect(settings.mailSender == "a@file")
        #expect(settings.dataFolder.path == "/home/ada/.local/share/strata-press")
    }

    @Test("The names in the environment and on the command line are those that the package looks for")
    func names() async throws {
        #expect(SettingKey.pictureMaximumBytes.flag == "--pictures-maximum-bytes")
        #expect(SettingKey.pictureMaximumBytes.variable == "PRESS_PICTURES_MAXIMUM_BYTES")
        let numbers: [SettingKey] = [
            .httpPort, .httpIdleTimeout, .httpMaximumConnections, .pictureMaximumBytes, .eventsMaximumClients,
            .eventsHeartbeat, .shutdownGrace,
            .healthMinimumFreeBytes, .articles,
        ]
        for key in numbers {
            await #expect(throws: SettingsError.self, "\(key)") {
                _ = try await PressSettings(arguments: ["press", "serve"], environment: [key.variable: "x"])
            }
            await #expect(throws: SettingsError.self, "\(key)") {
                _ = try await PressSettings(arguments: ["press", "serve", key.flag, "x"], environment: [:])
            }
        }
    }

    @Test(
        "Wrong settings are refused",
        arguments: [
            ["--http-port", "70000"], ["--http-port"], ["--http-port", "--log-level", "info"], ["--nothing", "1"],
            ["word"], ["--log-level", "loud"], ["--digest-time-zone", "Mars/Olympus"], ["--mail-sender", "a b"],
            ["--remote-bucket", "b", "--remote-folder", "f"], ["--config", "/nowhere/press.json"],
            ["--remote-bucket", "b", "--remote-endpoint", "nowhere"], ["--console-token", "short"],
            ["--http-port", "1", "--http-port", "2"], ["--digest-schedule", "tomorrow"],
            ["--remote-endpoint", "https://s3.example.com"], ["--remote-region", "eu"], ["--remote-prefix", "a"],
            ["--home-schema", "a"], ["--home-url", "postgresql://db/press"],
            ["--home-url", "no address", "--remote-folder", "f"],
            ["--home-url", "postgresql://db/press", "--home-schema", "", "--remote-folder", "f"],
            ["--console-editor", "ada"], ["--console-token", "0123456789abcdef", "--console-editor", ""],
        ]
    )
    func refused(_ arguments: [String]) async throws {
        await #expect(throws: SettingsError.self) {
            _ = try await PressSettings(arguments: ["press", "serve"] + arguments, environment: [:])
        }
    }

    @Test(
        "Wrong keys and types in the file are refused, and the message names the key",
        arguments: [
            (#"{"http": {"prt": 1}}"#, "http.prt"), (#"{"http": {"port": "1"}}"#, "http.port"),
            (#"{"http": {"port": true}}"#, "http.port"), (#"{"http": {"port": 1.5}}"#, "http.port"),
            (#"{"http": {"port": null}}"#, "http.port"), (#"{"http": {"port": [1]}}"#, "http.port"),
            (#"{"http": {"host": 1}}"#, "http.host"), (#"{"http": {"port": {"a": 1}}}"#, "http.port"),
            (#"{"http": 1}"#, "http"), (#"{"http.port": 1}"#, "http.port"), (#"{"htp": {}}"#, "htp"),
            (#"{"config": "a"}"#, "config"), ("[]", "press.json"), ("{", "press.json"),
        ]
    )
    func refusedFile(_ text: String, _ name: String) async throws {
        let scratch = try ScratchFolder()
        let file = scratch.file("press.json")
        try text.write(to: file, atomically: true, encoding: .utf8)
        let error = await #expect(throws: SettingsError.self) {
            _ = try await PressSettings(arguments: ["press", "serve", "--config", file.path], environment: [:])
        }
        #expect(error?.description.contains(name) == true)
    }

    @Test("A text of the command line may contain commas")
    func commas() async throws {
        let address = "host=db1,db2 dbname=press"
        for arguments in [["--home-url", address], ["--home-url=\(address)"]] {
            let settings = try await PressSettings(
                arguments: ["press", "serve", "--remote-folder", "/srv/a,b", "--digest-schedule", "0,30 6 * * *"]
                    + arguments,
                environment: ["PRESS_HOME_URL": "host=db3 dbname=press"]
            )
            #expect(settings.home?.url == address)
            #expect(settings.digestSchedule == "0,30 6 * * *")
        }
    }

    @Test("An unknown variable is refused by name")
    func refusedVariable() async throws {
        let error = await #expect(throws: SettingsError.self) {
            _ = try await PressSettings(arguments: ["press", "serve"], environment: ["PRESS_HTTP_PRT": "1"])
        }
        #expect(error?.description.contains("PRESS_HTTP_PRT") == true)
    }

    @Test("A folder that cannot be created is an error in words")
    func impossibleFolder() throws {
        #expect(throws: SettingsError.self) {
            try PressSettings(dataFolder: URL(filePath: "/proc/nowhere/press")).makeDataFolder()
        }
    }

    @Test("Clients of events leave half of the connections to other requests")
    func eventClients() async throws {
        let few = try await PressSettings(
            arguments: ["press", "serve", "--http-maximum-connections", "50"],
            environment: [:]
        )
        #expect(few.maximumEventClients == 25)
        let defaults = try await PressSettings(arguments: ["press", "serve"], environment: [:])
        #expect(defaults.maximumEventClients <= defaults.maximumConnections / 2)
        let arguments = ["press", "serve", "--http-maximum-connections", "50", "--events-maximum-clients"]
        let half = try await PressSettings(arguments: arguments + ["25"], environment: [:])
        #expect(half.maximumEventClients == 25)
        await #expect(throws: SettingsError.self) {
            _ = try await PressSettings(arguments: arguments + ["26"], environment: [:])
        }
    }

    @Test("The console may change the store only if an editor is named")
    func console() async throws {
        let token = "0123456789abcdef"
        let reading = try await PressSettings(
            arguments: ["press", "serve"],
            environment: ["PRESS_CONSOLE_TOKEN": token]
        )
        #expect(reading.console?.token == token)
        #expect(reading.console?.editor == nil)
        let changing = try await PressSettings(
            arguments: ["press", "serve", "--console-editor", "ada"],
            environment: ["PRESS_CONSOLE_TOKEN": token]
        )
        #expect(changing.console?.editor == "ada")
        let none = try await PressSettings(arguments: ["press", "serve"], environment: [:])
        #expect(none.console == nil)
    }

    @Test("A home has an address and a schema, and an error does not show the password")
    func home() async throws {
        let url = "postgresql://press:secret@db.internal/press"
        let arguments = ["press", "serve", "--remote-folder", "/srv/pictures"]
        let settings = try await PressSettings(arguments: arguments, environment: ["PRESS_HOME_URL": url])
        #expect(settings.home?.url == url)
        #expect(settings.home?.schema == "press")
        #expect(try settings.home?.makeHome().name == "postgresql://db.internal:5432/press/press")
        let error = await #expect(throws: SettingsError.self) {
            _ = try await PressSettings(arguments: arguments, environment: ["PRESS_HOME_URL": "password=secret host"])
        }
        #expect(error?.description.contains("secret") == false)
        #expect(try await PressSettings(arguments: arguments, environment: [:]).home == nil)
    }

    @Test("systemd's folder is the default of the data")
    func stateDirectory() async throws {
        let settings = try await PressSettings(
            arguments: ["press", "serve"],
            environment: ["STATE_DIRECTORY": "/var/lib/press"]
        )
        #expect(settings.store.path == "/var/lib/press/press.sqlite")
    }

    @Test("The README lists every setting")
    func readme() throws {
        let text = try String(contentsOf: Repository.example.appending(path: "README.md"), encoding: .utf8)
        for key in SettingKey.allCases { #expect(text.contains("`\(key.flag)`"), "\(key.flag)") }
    }
}
