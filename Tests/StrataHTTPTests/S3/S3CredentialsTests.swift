import Foundation
import StrataCloud
import Testing

@testable import StrataHTTP

@Suite struct S3CredentialsTests {
    private let home: URL

    init() throws {
        home = try Scratch.folder("home")
        try FileManager.default.createDirectory(at: home.appending(path: ".aws"), withIntermediateDirectories: true)
        try """
        # a comment
        [default]
        aws_access_key_id = first
        aws_secret_access_key=one=1

        [work]
        aws_access_key_id = second
        aws_secret_access_key = two
        aws_session_token = token
        [half]
        aws_access_key_id = third
        """.write(to: home.appending(path: ".aws/credentials"), atomically: true, encoding: .utf8)
        try """
        [default]
        region = eu-north-1
        s3 =
            addressing_style = path
        [profile work]
        region = eu-west-3
        endpoint_url = http://127.0.0.1:9000
        aws_access_key_id = never
        [profile only]
        aws_access_key_id = fourth
        aws_secret_access_key = four
        """.write(to: home.appending(path: ".aws/config"), atomically: true, encoding: .utf8)
    }

    private func environment(_ more: [String: String] = [:]) -> [String: String] {
        ["HOME": home.path].merging(more) { _, new in new }
    }

    @Test("Files are parsed as the tools of AWS parse them")
    func credentialFiles() async throws {
        let standard = try await S3FileCredentials(environment: environment()).credentials()
        #expect(standard == S3Credentials(accessKey: "first", secretKey: "one=1"))
        let work = S3Credentials(accessKey: "second", secretKey: "two", sessionToken: "token")
        #expect(try await S3FileCredentials(profile: "work", environment: environment()).credentials() == work)
        #expect(try await S3FileCredentials(environment: environment(["AWS_PROFILE": "work"])).credentials() == work)
        let only = try await S3FileCredentials(profile: "only", environment: environment()).credentials()
        #expect(only == S3Credentials(accessKey: "fourth", secretKey: "four"))
        #expect(try await S3FileCredentials(profile: "nobody", environment: environment()).credentials() == nil)
        await expect(.misconfigured) {
            try await S3FileCredentials(profile: "half", environment: environment()).credentials()
        }
        let elsewhere = environment(["AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_CONFIG_FILE": "~/nothing"])
        #expect(try await S3FileCredentials(environment: elsewhere).credentials() == nil)
    }

    @Test("The environment precedes the files")
    func environmentFirst() async throws {
        let variables = environment([
            "AWS_ACCESS_KEY_ID": "here", "AWS_SECRET_ACCESS_KEY": "now", "AWS_SESSION_TOKEN": "",
        ])
        let chain = S3CredentialsChain([
            S3EnvironmentCredentials(variables), S3FileCredentials(environment: variables),
        ])
        #expect(try await chain.credentials() == S3Credentials(accessKey: "here", secretKey: "now"))
        let without = S3CredentialsChain([S3EnvironmentCredentials([:]), S3FileCredentials(environment: variables)])
        #expect(try await without.credentials()?.accessKey == "first")
        #expect(try await S3CredentialsChain([]).credentials() == nil)
    }

    @Test("Regions and endpoints are found in the same places as by the tools of AWS")
    func regionsAndEndpoints() throws {
        let plain = try S3Location(bucket: "bucket", environment: environment())
        #expect(plain.region == "eu-north-1" && plain.endpoint.absoluteString == "https://s3.eu-north-1.amazonaws.com")
        #expect(plain.addressing == .virtualHost)
        #expect(try S3Location(bucket: "my.bucket", environment: environment()).addressing == .path)
        let work = try S3Location(bucket: "bucket", environment: environment(["AWS_PROFILE": "work"]))
        #expect(
            work.region == "eu-west-3" && work.endpoint.absoluteString == "http://127.0.0.1:9000"
                && work.addressing == .path
        )
        let variables = environment([
            "AWS_DEFAULT_REGION": "a", "AWS_REGION": "b", "AWS_ENDPOINT_URL": "http://one",
            "AWS_ENDPOINT_URL_S3": "http://two",
        ])
        let own = try S3Location(bucket: "bucket", environment: variables)
        #expect(own.region == "b" && own.endpoint.absoluteString == "http://two")
        #expect(try S3Location(bucket: "bucket", environment: [:]).region == "us-east-1")
        // Buckets with one name at two servers are two different places.
        #expect(plain.name == "s3://bucket/")
        let (one, other) = (URL(string: "http://127.0.0.1:9000"), URL(string: "http://127.0.0.1:9001/"))
        let names = try [one, other].map { try S3Location(bucket: "bucket", endpoint: $0, environment: [:]).name }
        #expect(names == ["s3://bucket/ at http://127.0.0.1:9000", "s3://bucket/ at http://127.0.0.1:9001"])
    }

    @Test("Invalid names of buckets are refused", arguments: ["", "a/b", "..", "a b", "ä", "-x"])
    func bucketNames(name: String)
        async
    {
        await expect(.misconfigured) { try S3Location(bucket: name, environment: [:]) }
    }

    @Test("Descriptions contain no secrets")
    func secrets() {
        let s3 = S3Credentials(accessKey: "access", secretKey: "hidden", sessionToken: "hidden")
        let http = HTTPCredentials.basic(user: "user", password: "hidden")
        var text =
            "\(s3) \(String(reflecting: s3)) \(http) \(String(reflecting: http)) \(HTTPCredentials.bearer("hidden"))"
        dump(s3, to: &text)
        dump(http, to: &text)
        dump([HTTPCredentials.bearer("hidden")], to: &text)
        #expect(!text.contains("hidden") && !text.contains(Data("user:hidden".utf8).base64EncodedString()))
        #expect(text.contains("access") && text.contains("user"))
    }

    @Test("Without credentials no request is sent")
    func noCredentials() async throws {
        let server = try await ScriptedServer { _ in ScriptedServer.Step.answer(200) }
        let location = try S3Location(bucket: "bucket", endpoint: Loopback.url(server.port), environment: [:])
        let remote = try S3Remote(location, credentials: S3CredentialsChain([]))
        await expect(.misconfigured) { try await remote.head(RemoteKey(["a"])) }
        #expect(server.requests.isEmpty)
    }
}
