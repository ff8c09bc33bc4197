/// A certificate for tests of files: an authority's and a client's, for P-256, valid for 100 years.
package enum SampleCertificate {
    /// The certificate.
    package static let pem = """
        -----BEGIN CERTIFICATE-----
        MIIBdTCCARugAwIBAgIUWK69d1x5sTiyLgal0SJbyLQv7n4wCgYIKoZIzj0EAwIw
        DzENMAsGA1UEAwwEVGVzdDAgFw0yNjExMjQwMDQzMjVaGA8yMTI2MTAzMTAwNDMy
        NVowDzENMAsGA1UEAwwEVGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABPOL
        qrPuXA+QNl1jo03387qsycYg2Gjth2JvlMX9JsIvIIOLalAsK5SstvEl7Ml8W9lN
        irD0Ik+5/y1J8GYxNFejUzBRMB0GA1UdDgQWBBTNxk1dkK7YvFu6tkvMBBlkiCwT
        vDAfBgNVHSMEGDAWgBTNxk1dkK7YvFu6tkvMBBlkiCwTvDAPBgNVHRMBAf8EBTAD
        AQH/MAoGCCqGSM49BAMCA0gAMEUCIAN0UXbyqhoepjf2GtvQxGLMPF1Bz4wbjcKE
        GUQFJ+KGAiEAt+IixgB+0QhkssItLfs3Mq/LqRxJi4wa/I0ET7P/dK8=
        -----END CERTIFICATE-----

        """

    /// Its private key, which exists only for these tests.
    package static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0+MN2KGpyJkLgCnC
        7Wj5dBsScyhnn4t0ABuGd/ooJWOhRANCAATzi6qz7lwPkDZdY6NN9/O6rMnGINho
        7Ydib5TF/SbCLyCDi2pQLCuUrLbxJezJfFvZTYqw9CJPuf8tSfBmMTRX
        -----END PRIVATE KEY-----

        """

    /// The SHA-256 digest of the certificate in DER, in hexadecimal.
    package static let digest = "05e1199aee6d7b74d00fc9eb2737056c01a899c5b8a853d77e67c93f206a6258"
}
