// swift-tools-version: 6.3
import CompilerPluginSupport
import PackageDescription

// The tests of the macros, in a package of their own. In one with the others, all that is tested would be built twice, for the machine that compiles and
// for the one that runs: tests that link a macro are built for the former, and with them whatever else is tested.
let package = Package(
    name: "strata-macros",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1")
    ],
    targets: [
        // A link to the sources of the macros.
        .macro(
            name: "StrataMacros",
            dependencies: [
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
            ]
        ),
        .testTarget(
            name: "StrataMacrosTests",
            dependencies: [
                "StrataMacros",
                .product(name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
