import Foundation
import Testing

@testable import StrataHTTP

@Suite struct SignatureTests {
    /// The signature in the header `authorization`.
    private func signature(
        _ method: String = "GET",
        _ path: String = "/",
        query: [(name: String, value: String)] = [],
        headers: [(name: String, value: String)],
        hash: String = SignatureV4.emptyHash,
        secret: String,
        access: String,
        service: String = "s3",
        at seconds: TimeInterval
    ) -> String? {
        SignatureV4(region: "us-east-1", service: service).headers(
            method: method,
            path: path,
            query: query,
            headers: headers,
            payloadHash: hash,
            credentials: S3Credentials(accessKey: access, secretKey: secret),
            date: Date(timeIntervalSince1970: seconds)
        ).first { $0.name == "authorization" }?.value.split(separator: "=").last.map(String.init)
    }

    // From the "AWS Signature Version 4 test suite" (aws-sig-v4-test-suite): get-vanilla, get-vanilla-query-order-key-case, post-vanilla.
    @Test(
        "Signatures match those of the AWS test suite",
        arguments: [
            ("GET", [], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            (
                "GET", [("Param2", "value2"), ("Param1", "value1")],
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
            ),
            ("POST", [], "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        ] as [(String, [(String, String)], String)]
    )
    func testSuite(method: String, query: [(String, String)], expected: String) {
        let signature = signature(
            method,
            query: query.map { (name: $0.0, value: $0.1) },
            headers: [("Host", "example.amazonaws.com")],
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            access: "AKIDEXAMPLE",
            service: "service",
            // 2015-08-30 12:36:00
            at: 1_440_938_160
        )
        #expect(signature == expected)
    }

    // From the S3 API Reference, "Signature Calculations for the Authorization Header: Transferring Payload in a Single
    // Chunk": its four examples.
    @Test(
        "Signatures match those of the S3 reference",
        arguments: [
            (
                "GET", "/test.txt", [], [("Range", "bytes=0-9")], nil,
                "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
            ),
            (
                "PUT", "/test%24file.text", [],
                [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
                "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
                "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
            ),
            (
                "GET", "/", [("lifecycle", "")], [], nil,
                "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
            ),
            (
                "GET", "/", [("max-keys", "2"), ("prefix", "J")], [], nil,
                "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
            ),
        ] as [(String, String, [(String, String)], [(String, String)], String?, String)]
    )
    func reference(
        method: String,
        path: String,
        query: [(String, String)],
        headers: [(String, String)],
        hash: String?,
        expected: String
    ) {
        let hash = hash ?? SignatureV4.emptyHash
        let all = [("Host", "examplebucket.s3.amazonaws.com"), ("x-amz-content-sha256", hash)] + headers
        let signature = signature(
            method,
            path,
            query: query.map { (name: $0.0, value: $0.1) },
            headers: all.map { (name: $0.0, value: $0.1) },
            hash: hash,
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
            access: "AKIAIOSFODNN7EXAMPLE",
            // 2013-05-24 00:00:00
            at: 1_369_353_600
        )
        #expect(signature == expected)
    }

    @Test("Hashes of streams match those of their bytes")
    func streamHashes() async throws {
        let data = bytes(100_000)
        let hash = try await SignatureV4.hash(
            AsyncThrowingStream { continuation in
                for start in stride(from: 0, to: data.count, by: 777) {
                    continuation.yield(data[start..<min(start + 777, data.count)])
                }
                continuation.finish()
            }
        )
        #expect(hash == SignatureV4.hash(data))
        #expect(SignatureV4.emptyHash == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    }
}
