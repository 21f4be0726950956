import Foundation

enum Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
}

/// The parts of SwiftPM's build from which the running tests were made.
enum Build {
    /// The folder of this configuration, which contains the tests' executable.
    static let folder: URL = {
        let beside = Bundle.main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent()
        if let beside, FileManager.default.fileExists(atPath: beside.appending(path: "Modules").path) { return beside }
        return Repository.root.appending(path: ".build/debug")
    }()

    /// The compiler options for tests that were built for a sanitizer, which `Scripts/sanitize` passes on.
    static let sanitizer = ProcessInfo.processInfo.environment["STRATA_SANITIZER"].map { ["-sanitize=\($0)"] } ?? []

    /// The C++ library, because BoringSSL is written in C++.
    static let cxx: [String] = {
        #if os(macOS)
            ["-lc++"]
        #else
            ["-lstdc++"]
        #endif
    }()

    /// The folders in which the compiler finds the modules, including the C modules that others are built from.
    static let modules: [URL] = {
        let checkouts = folder.appending(path: "../../checkouts").standardizedFileURL
        // Folders that end in "-tool.build" are built for macros.
        return [folder.appending(path: "Modules")]
            + moduleMaps(in: folder, depth: 1) { $0.hasSuffix(".build") && !$0.hasSuffix("-tool.build") }
            + moduleMaps(in: checkouts, depth: 4) { _ in true }
            // SwiftPM does not copy the description of a system library.
            + moduleMaps(in: Repository.root.appending(path: "Sources"), depth: 1) { _ in true }
    }()

    /// The folders that describe a C module to the compiler.
    private static func moduleMaps(in folder: URL, depth: Int, where fits: (String) -> Bool) -> [URL] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.sorted().flatMap { name -> [URL] in
            let inner = folder.appending(path: name)
            if name == "Tests" || name.hasPrefix(".") || !fits(name) { return [] }
            if FileManager.default.fileExists(atPath: inner.appending(path: "module.modulemap").path) { return [inner] }
            return depth > 1 ? moduleMaps(in: inner, depth: depth - 1, where: fits) : []
        }
    }

    /// The object files of these modules that the running tests are linked with. The folder may contain others from
    /// earlier builds.
    static func objects(of modules: [String]) throws -> [String] {
        let list = folder.appending(path: "strataPackageTests.product/Objects.LinkFileList")
        return try String(contentsOf: list, encoding: .utf8).split(separator: "\n").map(String.init).filter { line in
            modules.contains { line.contains("/\($0).build/") }
        }
    }
}
