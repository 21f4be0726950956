// swift-tools-version: 6.3
import CompilerPluginSupport
import PackageDescription

// The tests of the macros are in a separate package. In one package with the other tests, all tested code would be
// built twice: for the machine that compiles, and for the machine that runs. Tests that link a macro are built for the
// machine that compiles, and so is everything else that they test.
//
// `Scripts/test` builds both packages in one folder, where the modules of swift-syntax are compiled once. The target with
// the macros has another name, or each package would replace the plug-in of the other.
let package = Package(
    name: "strata-macros",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/swiftlang/swift-syntax", from: "603.0.1")
    ],
    targets: [
        // `Sources/TestedMacros` is a link to the sources of the macros.
        .macro(
            name: "TestedMacros",
            dependencies: [
                .product(name: "SwiftCompilerPlugin", package: "swift-syntax"),
                .product(name: "SwiftSyntaxMacros", package: "swift-syntax"),
            ]
        ),
        .testTarget(
            name: "StrataMacrosTests",
            dependencies: [
                "TestedMacros",
                .product(name: "SwiftSyntaxMacrosGenericTestSupport", package: "swift-syntax"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
