// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(name: "strata", path: ".."),
    ],
    targets: [
        .target(name: "CBench"),
        // What `bench` and `bench-fleet` share.
        .target(name: "BenchFigures"),
        .executableTarget(
            name: "bench",
            dependencies: [
                "BenchFigures", "CBench",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOFoundationCompat", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "Strata", package: "strata"),
                .product(name: "StrataCloud", package: "strata"),
                .product(name: "StrataHTTP", package: "strata"),
                .product(name: "StrataPipeline", package: "strata"),
            ]
        ),
        // Nodes that share a store with a home in PostgreSQL, beside plain SQL.
        .executableTarget(
            name: "bench-fleet",
            dependencies: [
                "BenchFigures", "CBench",
                .product(name: "Strata", package: "strata"),
                .product(name: "StrataPipeline", package: "strata"),
                .product(name: "StrataPostgres", package: "strata"),
            ]
        ),
        // The measured endpoints of the example press, written with GRDB alone.
        .executableTarget(
            name: "press-grdb",
            dependencies: [
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
