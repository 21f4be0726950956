import Foundation

enum Repository {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
}

/// What the running tests were built from, as SwiftPM has left it.
enum Build {
    /// The folder of this configuration, in which the program of the tests stands.
    static let folder: URL = {
        let beside = Bundle.main.executableURL?.resolvingSymlinksInPath().deletingLastPathComponent()
        if let beside, FileManager.default.fileExists(atPath: beside.appending(path: "Modules").path) { return beside }
        return Repository.root.appending(path: ".build/debug")
    }()

    /// What the compiler has to be told where the tests were built for a sanitizer: `Scripts/sanitize` says so.
    static let sanitizer = ProcessInfo.processInfo.environment["STRATA_SANITIZER"].map { ["-sanitize=\($0)"] } ?? []

    /// The library of C++, in which BoringSSL is written.
    static let cxx: [String] = {
        #if os(macOS)
            ["-lc++"]
        #else
            ["-lstdc++"]
        #endif
    }()

    /// Where the compiler finds the modules, those in C that others are made of among them.
    static let modules: [URL] = {
        let checkouts = folder.appending(path: "../../checkouts").standardizedFileURL
        // What ends in "-tool" is built for macros.
        return [folder.appending(path: "Modules")]
            + moduleMaps(in: folder, depth: 1) { $0.hasSuffix(".build") && !$0.hasSuffix("-tool.build") }
            + moduleMaps(in: checkouts, depth: 4) { _ in true }
    }()

    /// The folders that tell the compiler of a module in C.
    private static func moduleMaps(in folder: URL, depth: Int, where fits: (String) -> Bool) -> [URL] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.sorted().flatMap { name -> [URL] in
            let inner = folder.appending(path: name)
            if name == "Tests" || name.hasPrefix(".") || !fits(name) { return [] }
            if FileManager.default.fileExists(atPath: inner.appending(path: "module.modulemap").path) { return [inner] }
            return depth > 1 ? moduleMaps(in: inner, depth: depth - 1, where: fits) : []
        }
    }

    /// The object files of these modules that the running tests are linked with. Others may lie about from earlier builds.
    static func objects(of modules: [String]) throws -> [String] {
        let list = folder.appending(path: "strataPackageTests.product/Objects.LinkFileList")
        return try String(contentsOf: list, encoding: .utf8).split(separator: "\n").map(String.init).filter { line in
            modules.contains { line.contains("/\($0).build/") }
        }
    }
}
