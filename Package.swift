// swift-tools-version: 6.3
import CompilerPluginSupport
import PackageDescription

let package = Package(
    name: "strata",
    platforms: [.macOS(.v15), .iOS(.v18)],
    products: [
        .library(name: "Strata", targets: ["Strata"]),
        .library(name: "StrataPipeline", targets: ["StrataPipeline"]),
        .library(name: "StrataReachability", targets: ["StrataReachability"]),
        .library(name: "StrataRemotes", targets: ["StrataRemotes"]),
        .library(name: "StrataCloud", targets: ["StrataCloud"]),
        .library(name: "StrataHTTP", targets: ["StrataHTTP"]),
        .library(name: "StrataPostgres", targets: ["StrataPostgres"]),
        .library(name: "StrataConsole", targets: ["StrataConsole"]),
        .library(name: "StrataTesting", targets: ["StrataTesting"]),
        .executable(name: "strata", targets: ["strata-command"]),
    ],
    // A package that uses only some of the products turns off the others, and the packages that they need.
    traits: [
        .trait(name: "Pipeline", description: "StrataPipeline: durable queues. StrataReachability: the network."),
        .trait(
            name: "Cloud",
            description: "StrataRemotes: stores of objects. StrataCloud: a tree of nodes, and its sync.",
            enabledTraits: ["Pipeline"]
        ),
        .trait(name: "HTTP", description: "StrataHTTP: S3 and WebDAV remotes.", enabledTraits: ["Cloud"]),
        .trait(name: "Postgres", description: "StrataPostgres: a home of shared stores in PostgreSQL, over libpq."),
        .trait(name: "Console", description: "StrataConsole: the web console.", enabledTraits: ["Cloud"]),
        // Without this trait, swift-argument-parser is resolved only for the examples.
        .trait(name: "Tool", description: "strata: the command-line tool.", enabledTraits: ["Console"]),
        .trait(
            name: "Examples",
            description: "The programs in Examples, and the tests.",
            enabledTraits: ["HTTP", "Postgres", "Tool"]
        ),
        .default(enabledTraits: ["Examples"]),
    ],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.4"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(
            url: "https://github.com/apple/swift-configuration",
            from: "1.4.0",
            traits: ["JSON", "CommandLineArguments"]
        ),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1"),
    ],
    targets: [
        .target(name: "CStrataSQLite", linkerSettings: [.linkedLibrary("sqlite3")]),
        .macro(
            name: "StrataMacros",
            dependencies: [
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
            ]
        ),
        .target(
            name: "Strata",
            dependencies: [
                "CStrataSQLite",
                "StrataMacros",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]
        ),
        .target(
            name: "StrataPipeline",
            dependencies: [
                "Strata",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["Pipeline"])
                ),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ]
        ),
        // Calls of Linux that its C library hides from Swift.
        .target(name: "CStrataFiles"),
        .target(name: "CStrataNetlink"),
        .target(name: "StrataReachability", dependencies: ["CStrataNetlink", "Strata", "StrataPipeline"]),
        .target(
            name: "StrataRemotes",
            dependencies: [
                "CStrataFiles", "Strata",
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Cloud"])),
            ]
        ),
        .target(
            name: "StrataCloud",
            dependencies: [
                "StrataPipeline", "StrataReachability", "StrataRemotes",
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Cloud"])),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "StrataHTTP",
            dependencies: [
                "Strata", "StrataRemotes",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: .when(traits: ["HTTP"])),
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Cloud"])),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOFoundationCompat", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["HTTP"])),
            ]
        ),
        // The module of libpq's header. Without the trait, SwiftPM does not look for the library.
        .systemLibrary(
            name: "CStrataPostgres",
            pkgConfig: "libpq",
            providers: [.apt(["libpq-dev"]), .brew(["libpq"])]
        ),
        .target(
            name: "StrataPostgres",
            dependencies: ["Strata", .target(name: "CStrataPostgres", condition: .when(traits: ["Postgres"]))]
        ),
        .target(
            name: "StrataTesting",
            dependencies: ["StrataPipeline", .product(name: "Logging", package: "swift-log")]
        ),
        // What a store says of its queues and accounts, as rows and texts for the tool and the console.
        .target(name: "StrataInspection", dependencies: ["Strata", "StrataCloud", "StrataPipeline"]),
        .target(
            name: "StrataConsole",
            dependencies: [
                "Strata", "StrataCloud", "StrataInspection", "StrataPipeline",
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Console"])),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Mustache", package: "swift-mustache", condition: .when(traits: ["Console"])),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["Pipeline"])
                ),
            ]
        ),
        // The commands of the tool, as a library, so that tests can call them.
        .target(
            name: "StrataTool",
            dependencies: [
                "Strata", "StrataCloud", "StrataConsole", "StrataInspection", "StrataPipeline",
                // Without this trait, the tool has no commands of homes, and needs no libpq.
                .target(name: "StrataPostgres", condition: .when(traits: ["Postgres"])),
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Tool"])),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .executableTarget(name: "strata-command", dependencies: ["StrataTool"]),
        .target(
            name: "HistoryKit",
            dependencies: [
                "ExampleFolders",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["Examples"])
                ),
            ],
            path: "Examples/history/HistoryKit"
        ),
        .executableTarget(
            name: "history",
            dependencies: [
                "HistoryKit", "Strata",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["Examples"])
                ),
            ],
            path: "Examples/history/history"
        ),
        // The folders in which the examples keep their data.
        .target(name: "ExampleFolders", path: "Examples/shared/ExampleFolders"),
        .target(
            name: "ChatKit",
            dependencies: [
                "ExampleFolders", "Strata", "StrataPipeline",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["Examples"])
                ),
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Cloud"])),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["HTTP"])),
            ],
            path: "Examples/chat/ChatKit"
        ),
        .executableTarget(
            name: "chat",
            dependencies: [
                "ChatKit",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["Examples"])
                ),
            ],
            path: "Examples/chat/chat"
        ),
        .executableTarget(
            name: "chat-server",
            dependencies: [
                "ChatKit",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["Examples"])
                ),
            ],
            path: "Examples/chat/chat-server"
        ),
        // Calls of the system that its C library does not have everywhere.
        .target(name: "CMirrorFiles", path: "Examples/mirror/CMirrorFiles"),
        .target(
            name: "MirrorKit",
            dependencies: [
                "CMirrorFiles", "ExampleFolders", "Strata", "StrataCloud", "StrataHTTP", "StrataPipeline",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["Examples"])
                ),
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Cloud"])),
                .product(name: "Logging", package: "swift-log"),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["Pipeline"])
                ),
            ],
            path: "Examples/mirror/MirrorKit"
        ),
        .executableTarget(
            name: "mirror",
            dependencies: [
                "MirrorKit",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["Examples"])
                ),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["Pipeline"])
                ),
            ],
            path: "Examples/mirror/mirror"
        ),
        .target(
            name: "PressKit",
            dependencies: [
                "ExampleFolders", "Strata", "StrataCloud", "StrataConsole", "StrataHTTP", "StrataPipeline",
                "StrataPostgres",
                .product(
                    name: "AsyncAlgorithms",
                    package: "swift-async-algorithms",
                    condition: .when(traits: ["Examples"])
                ),
                .product(
                    name: "Configuration",
                    package: "swift-configuration",
                    condition: .when(traits: ["Examples"])
                ),
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Cloud"])),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["Examples"])),
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Examples"])),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["Pipeline"])
                ),
            ],
            path: "Examples/press/PressKit"
        ),
        .executableTarget(name: "press", dependencies: ["PressKit"], path: "Examples/press/press"),
        .target(name: "TestRepositories", dependencies: ["HistoryKit"], path: "Tests/Fixtures/TestRepositories"),
        .testTarget(
            name: "ChatTests",
            dependencies: [
                "ChatKit", "chat", "chat-server", "TestRepositories",
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["HTTP"])),
            ]
        ),
        .testTarget(
            name: "MirrorTests",
            dependencies: [
                "MirrorKit", "mirror", "StoreModels", "Strata", "StrataCloud", "TestRepositories",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["Examples"])
                ),
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Cloud"])),
            ]
        ),
        .testTarget(
            name: "PressTests",
            dependencies: [
                "FileHome", "PressKit", "press", "StoreModels", "Strata", "StrataCloud", "StrataPipeline",
                .product(
                    name: "AsyncHTTPClient",
                    package: "async-http-client",
                    condition: .when(traits: ["HTTP"])
                ),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["Examples"])),
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Examples"])),
                .product(name: "HummingbirdTesting", package: "hummingbird", condition: .when(traits: ["Examples"])),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["HTTP"])),
            ]
        ),
        .testTarget(
            name: "HistoryKitTests",
            dependencies: [
                "ExampleFolders", "HistoryKit", "TestRepositories",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: .when(traits: ["Examples"])
                ),
            ]
        ),
        .testTarget(name: "HistoryTests", dependencies: ["history", "HistoryKit", "TestRepositories"]),
        .target(
            name: "PublicModels",
            dependencies: ["Strata"],
            path: "Tests/Fixtures/PublicModels",
            swiftSettings: [
                .treatAllWarnings(as: .error),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
                .strictMemorySafety(),
            ]
        ),
        .target(
            name: "MainActorModels",
            dependencies: ["Strata"],
            path: "Tests/Fixtures/MainActorModels",
            swiftSettings: [
                .treatAllWarnings(as: .error),
                .defaultIsolation(MainActor.self),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
                .strictMemorySafety(),
            ]
        ),
        .target(name: "StoreModels", dependencies: ["Strata", "TestHome"], path: "Tests/Fixtures/StoreModels"),
        // A home of shared stores in a file, and the promises that every kind of home must keep.
        .target(
            name: "FileHome",
            dependencies: ["Strata", .product(name: "GRDB", package: "GRDB.swift")],
            path: "Tests/Fixtures/FileHome"
        ),
        .target(name: "HomeSuite", dependencies: ["CStrataSQLite", "Strata"], path: "Tests/Fixtures/HomeSuite"),
        .target(
            name: "PostgresCluster",
            path: "Tests/Fixtures/PostgresCluster",
            exclude: ["cluster.sh", "pooler.sh"]
        ),
        // Gives homes to the stores of all tests, if the environment says so. The target in C does it when a program is
        // loaded.
        .target(name: "CTestHome", path: "Tests/Fixtures/CTestHome"),
        .target(
            name: "TestHome",
            dependencies: ["CTestHome", "FileHome", "PostgresCluster", "Strata", "StrataPostgres"],
            path: "Tests/Fixtures/TestHome"
        ),
        .target(name: "TestHomeTraits", path: "Tests/Fixtures/TestHomeTraits"),
        // Nodes that share a store.
        .target(
            name: "FleetFixture",
            dependencies: ["FileHome", "StoreModels", "Strata", .product(name: "GRDB", package: "GRDB.swift")],
            path: "Tests/Fixtures/FleetFixture"
        ),
        // Ends a process between two steps of SQLite's.
        .target(name: "CKillSwitch", path: "Tests/Helpers/CKillSwitch", linkerSettings: [.linkedLibrary("sqlite3")]),
        // Works on a store in a process of its own, which tests kill.
        .executableTarget(
            name: "strata-crash",
            dependencies: [
                "CKillSwitch", "FileHome", "HomeSuite", "Strata", "StrataPipeline", "StrataPostgres", "StoreModels",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["Pipeline"])
                ),
            ],
            path: "Tests/Helpers/StrataCrash"
        ),
        // Makes stores for the tests of the console in a browser, and works on them in a separate process.
        .executableTarget(
            name: "strata-sample",
            dependencies: ["Strata", "StrataCloud", "StrataPipeline"],
            path: "Tests/Helpers/StrataSample"
        ),
        .testTarget(
            // Compiles the code in Guides/ and README.md against the modules of this build.
            name: "GuideTests",
            dependencies: [
                "Strata", "StrataCloud", "StrataConsole", "StrataHTTP", "StrataPipeline", "StrataReachability",
                "StrataRemotes", "StrataTesting",
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Console"])),
                .product(name: "HummingbirdTesting", package: "hummingbird", condition: .when(traits: ["Console"])),
            ]
        ),
        .testTarget(
            name: "StrataPipelineTests",
            dependencies: [
                "FileHome", "Strata", "StrataPipeline", "StrataTesting", "StoreModels", "TestHomeTraits",
                "strata-crash",
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["Pipeline"])
                ),
                .product(
                    name: "ServiceLifecycleTestKit",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["Pipeline"])
                ),
            ]
        ),
        // Works on a cache in a process of its own, which tests kill.
        .executableTarget(
            name: "strata-cache",
            dependencies: ["StoreModels", "StrataCloud"],
            path: "Tests/Helpers/StrataCache"
        ),
        // Ends a process between two changes of files.
        .target(name: "CFileSteps", path: "Tests/Helpers/CFileSteps"),
        .target(
            name: "CloudScenarios",
            dependencies: [
                "StoreModels", "Strata", "StrataCloud", "StrataPipeline",
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Cloud"])),
            ],
            path: "Tests/Fixtures/CloudScenarios"
        ),
        // Works on an account in a process of its own, which ends by SIGKILL where tests say.
        .executableTarget(
            name: "strata-cloud-crash",
            dependencies: ["CFileSteps", "CloudScenarios"],
            path: "Tests/Helpers/StrataCloudCrash"
        ),
        // Networks of their own for the tests of reachability.
        .target(name: "CNetworkNamespace", path: "Tests/Helpers/CNetworkNamespace"),
        .testTarget(
            name: "StrataCloudTests",
            dependencies: [
                "CNetworkNamespace", "CStrataNetlink", "CloudScenarios", "Strata", "StrataCloud", "StrataPipeline",
                "StrataReachability", "StrataRemotes", "StrataTesting", "StoreModels", "TestHomeTraits", "strata-cache",
                "strata-cloud-crash",
                .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["Cloud"])),
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        .testTarget(
            // Every remote against real servers, which Scripts/lib.sh installs, and against a scripted server.
            name: "StrataHTTPTests",
            dependencies: [
                "Strata", "StrataCloud", "StrataHTTP", "StrataPipeline", "TestRepositories", "mirror",
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["HTTP"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["HTTP"])),
            ],
            exclude: ["requirements.txt", "Servers/ceph.sh"]
        ),
        .testTarget(
            // A home in PostgreSQL against a real server, which Scripts/lib.sh installs.
            name: "StrataPostgresTests",
            dependencies: [
                "FleetFixture", "HomeSuite", "PostgresCluster", "StoreModels", "Strata", "StrataPipeline",
                "StrataPostgres", "StrataTool", "strata-crash",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "StrataConsoleTests",
            dependencies: [
                "CloudScenarios", "FileHome", "Strata", "StrataCloud", "StrataConsole", "StrataInspection",
                "StrataPipeline", "StoreModels",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Console"])),
                .product(name: "HummingbirdTesting", package: "hummingbird", condition: .when(traits: ["Console"])),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Mustache", package: "swift-mustache", condition: .when(traits: ["Console"])),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: .when(traits: ["Pipeline"])
                ),
            ]
        ),
        .testTarget(
            // The commands of `strata` in the process of the tests, and the program itself.
            name: "StrataToolTests",
            dependencies: [
                "CloudScenarios", "FileHome", "Strata", "StrataCloud", "StrataPipeline", "StrataTool", "StoreModels",
                "strata-command", "strata-crash", "strata-sample",
                .product(name: "GRDB", package: "GRDB.swift"),
            ]
        ),
        .testTarget(
            name: "StrataSQLTests",
            dependencies: ["Strata", "CStrataSQLite"]
        ),
        .testTarget(
            name: "StrataTests",
            dependencies: [
                "Strata", "CStrataSQLite", "FileHome", "FleetFixture", "HomeSuite", "MainActorModels", "PublicModels",
                "StoreModels", "TestHomeTraits",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
            ],
            // Stores that earlier versions of Strata have made.
            resources: [.copy("Migration/Stores")]
        ),
    ]
)
