// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(name: "strata", path: ".."),
    ],
    targets: [
        .target(name: "CBench"),
        .executableTarget(
            name: "bench",
            dependencies: [
                "CBench",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
                .product(name: "Strata", package: "strata"),
                .product(name: "StrataPipeline", package: "strata"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
