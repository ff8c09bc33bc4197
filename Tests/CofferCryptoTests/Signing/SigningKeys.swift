import CofferBase
import CofferCrypto
import Testing

/// Private keys that exist only for these tests.
enum SigningKeys {
    static let rsa = """
        -----BEGIN PRIVATE KEY-----
        MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQCuqlUQ0tsyFMA4
        4/Rj5fY4HZm8WlY7DYs+t3D0eH2peKz9oxwTRF0EJABgPt/2JdlJxE+9KOQ7K9T0
        qn2o33XeIaCvZHylUCpmtjtbUkk6oEfCPhM4X216SlSkYoDHz9n9ahvFqw7Ef/nb
        Oo82vSUEXJVmuiOxzPqw1/rcvYlqblRsrx1G0cH6TFx+ODlWLgrFkB9SWlZMoAew
        jWZ4lFcPwRnW8JeZd1SrTKz8CuAwegQ21E+R3u0XujR4r3TjXSRm8eQMXaVrtrH3
        hRA/aIUx2+7ryBdPJf3Pzhb1ffqiHnvOsVlswzA12lsQv147JFsDSd8cMp0tRaaY
        E63n28KhAgMBAAECggEAAc1hOMwtTN3PiAJNlqPoolaR9tJe3OJSmeb/hwfPFczD
        GIjX11xU0lHaKzJKcizcxr1RgdDR7/PBUV/sX7UA6FXusBgs41wu6kQY+Bzbn/Dr
        XRRHXgUkKuyarHRHW3wCxgczxr4U9jD2letPJLD+XBSQigfHFRgvDGqs/k7oh1+c
        SL329g5/LTQOBi1YeGthM4CSdr/BMor+expIsMC06WKyfa44fdtrIxu+0uwCB6H5
        E5JKiVuOkwz/CYMyOT2yxr1ZSbIKLIt/xgqxPjLMb26CywNl1WAemnXeuzPPHzRZ
        OMMuLtonjfomn2QzvRNcaMsI0xKwOhiBlybD8kt7GQKBgQDbryTT07AKRzJUrb0E
        d0h+F185XNLQOhJ3nYGY6O9XLZcz7EUvlQYSjRSVzdDFtlR5HDg1Rlmg9+fr3JX8
        QGmwi28upHJWFVfWtPWCtFSuwwL4SBelC2nD+LO8MgAk0pb71viENwuJLDPgNWzA
        gwVbFVwAoikt7UTryBV28l4lyQKBgQDLigeD7MMPuCVRMdZ8KAWdFmyuts9MSqUb
        5vK051OmmKo0g/CylMigBL3twkdEL+TjG+aXjfXfc2vDnTcYEsn41Mp+igdyYsLI
        UPQyPWMrkgxY+oIoA8kwd30A6orMnAos1e9raiL9ftVWRbVR7Vsma/XZGBKgn8qr
        6kS/pqqCGQKBgBn36y+LD303i1CNNRHJE+2rz5rVSSpKIxK2sLIlnt08S2pc3JTS
        VeRtfuhyauJkOjoSxuYtSb0IcQbljWlDJ/sxkFQAJm/cmASOYZMww+3gqYI1622c
        GsWKqZxugKvZpPViJQBkDV4KtpsjVZawJjrtHHIKuTlvmb0RatAjuFNZAoGACh2E
        /BhzJT/Yku1wJGF0zfbEVfZ93OPEytsyaq0oahoiM1PvTWC5i8JQkhVap1fd/y9u
        yU9jzcQVsfYJO+gLI5OnsJw5fITN+1iSmkCUwiCS/oUMnOJ7SC5YBwig90Q1+T50
        lJkEviZkgdIbDcRHCGTLJgvdOSBX2S1eV0v4I1kCgYBhumY3apaiwhzl7SROND68
        +seAFg9AzxTZ/biXME/+xxNR1stQXxu83rd8j0cZsDMymeddWDLkswrp7VDG5b9L
        n+GK8xRHOiXw5XJGo70ACwQ7O9lzbPVucWhpNa+Rncn6S9nPTeeQUhtqPECVjFEf
        vFtoXjETYfNVpZpWq3f22w==
        -----END PRIVATE KEY-----
        """

    static let p256 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgbK0kXY023+qnRrw6
        FjRhA9YbA3LRUC6438CVzSgHeNahRANCAATpuAY9zvSlxHglf29VSJQ0ZMYzFHsg
        Xcy85Z0D/qRgVOPt7gGdDWQdg1TdJLGaxFjC9v44HMtaUfHoaeuWA363
        -----END PRIVATE KEY-----
        """

    static let ed25519 = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEIJSOl9/79r/JMQOVx4BL3GNIw7sGKGym0QI1HzMxsIvA
        -----END PRIVATE KEY-----
        """

    /// The key of an algorithm, imported.
    static func key(_ algorithm: JSONWebToken.Algorithm, keyID: String? = "k") throws -> JSONWebSigningKey {
        let file: String
        switch algorithm {
        case .rs256, .ps256: file = rsa
        case .es256: file = p256
        case .edDSA: file = ed25519
        }
        return try JSONWebSigningKey.importing(
            try SecretBytes.copying(file), algorithm: algorithm, keyID: keyID)
    }
}
