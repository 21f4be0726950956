import Foundation
import Testing

@testable import PressKit

enum Repository {
    /// The folder of the example.
    static let example = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Examples/press")
}

@Suite("Files for deployments") struct DeploymentTests {
    private func lines(of name: String) throws -> [String] {
        try String(contentsOf: Repository.example.appending(path: name), encoding: .utf8)
            .split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    }

    @Test("The unit of systemd is hardened, and gives the service time to end")
    func unit() throws {
        let lines = try lines(of: "press.service")
        let needed = [
            "[Unit]", "[Service]", "[Install]", "DynamicUser=yes", "StateDirectory=press", "NoNewPrivileges=yes",
            "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes", "PrivateDevices=yes",
            "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK", "KillSignal=SIGTERM",
        ]
        for line in needed { #expect(lines.contains(line), "\(line)") }
        let stop = try #require(lines.first { $0.hasPrefix("TimeoutStopSec=") })
        let seconds = try #require(Int(stop.dropFirst("TimeoutStopSec=".count)))
        let grace = PressSettings(dataFolder: URL(filePath: "/")).shutdownGrace
        #expect(Duration.seconds(seconds) > grace)
    }

    @Test("systemd accepts the unit", .enabled(if: FileManager.default.fileExists(atPath: "/usr/bin/systemd-analyze")))
    func verifiedUnit() throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/systemd-analyze")
        process.arguments = ["verify", Repository.example.appending(path: "press.service").path]
        let pipe = Pipe()
        process.standardError = pipe
        process.standardOutput = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        // The program is not installed on this machine, and systemd may not be running.
        let faults = text.split(separator: "\n").filter { line in
            line.contains("press.service") && !line.contains("is not executable") && !line.contains("not found")
        }
        #expect(faults.isEmpty, "\(text)")
    }

    @Test("The image runs as a user without rights, and keeps its data in a volume")
    func dockerfile() throws {
        let lines = try lines(of: "Dockerfile")
        let names = lines.compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(names.filter { $0 == "FROM" }.count == 2)
        for name in ["USER", "VOLUME", "EXPOSE", "ENTRYPOINT", "STOPSIGNAL", "HEALTHCHECK"] {
            #expect(names.contains(name), "\(name)")
        }
        #expect(!lines.contains { $0.hasPrefix("USER root") })
        #expect(lines.contains { $0.hasPrefix("FROM") && $0.contains("swift:6.3") })
    }
}
