// Writes, reads and deletes a password with QtKeychain, by the symbols of its library: Qt's headers are large, and
// the few classes that are needed are declared here, as large as they need be at most.
//
// Usage: qtkeychain write KEY PASSWORD | read KEY | delete KEY
// Ends with QtKeychain's code of the error; 0 if there was none, 1 if there is no such password.
#include <cstddef>
#include <cstdio>
#include <cstring>

struct ArrayData {
    int references;
    int size;
    unsigned capacity;
    std::ptrdiff_t offset;
};

class QByteArray {
public:
    const ArrayData *data;
    ~QByteArray() {}  // Not freed: the program ends soon.
};

class QString {
    void *data;

public:
    static QString fromUtf8_helper(const char *text, int length);
    ~QString() {}
};

class QObject;

class QMetaObject {
public:
    class Connection {
        void *data;

    public:
        ~Connection();
    };
};

namespace Qt {
enum ConnectionType { AutoConnection };
}

class QObject {
public:
    static QMetaObject::Connection connect(
        const QObject *, const char *, const QObject *, const char *, Qt::ConnectionType);
};

class QCoreApplication {
    alignas(16) char space[256];

public:
    QCoreApplication(int &count, char **arguments, int version);
    static int exec();
};

namespace QKeychain {
enum Error {};

class Job {
public:
    void setAutoDelete(bool);
    void setKey(const QString &);
    void start();
    Error error() const;
};

class ReadPasswordJob {
    alignas(16) char space[256];

public:
    ReadPasswordJob(const QString &service, QObject *parent);
    QByteArray binaryData() const;
};

class WritePasswordJob {
    alignas(16) char space[256];

public:
    WritePasswordJob(const QString &service, QObject *parent);
    void setTextData(const QString &);
};

class DeletePasswordJob {
    alignas(16) char space[256];

public:
    DeletePasswordJob(const QString &service, QObject *parent);
};
}  // namespace QKeychain

static QString text(const char *bytes) { return QString::fromUtf8_helper(bytes, (int)std::strlen(bytes)); }

static int finish(void *object, const char *key, QCoreApplication *application) {
    auto *job = static_cast<QKeychain::Job *>(object);
    job->setAutoDelete(false);
    job->setKey(text(key));
    // 1 before the name of a slot, 2 before that of a signal.
    auto *connection = new QMetaObject::Connection(QObject::connect(
        static_cast<QObject *>(object), "2finished(QKeychain::Job*)", reinterpret_cast<QObject *>(application),
        "1quit()", Qt::AutoConnection));
    (void)connection;
    job->start();
    QCoreApplication::exec();
    return job->error();
}

int main(int count, char **arguments) {
    if (count < 3) return 64;
    auto *application = new QCoreApplication(count, arguments, 0x050f00);
    const char *verb = arguments[1], *key = arguments[2];
    QString service = text("Coffer's test");
    if (!std::strcmp(verb, "write") && count == 4) {
        auto *job = new QKeychain::WritePasswordJob(service, nullptr);
        job->setTextData(text(arguments[3]));
        return finish(job, key, application);
    }
    if (!std::strcmp(verb, "read")) {
        auto *job = new QKeychain::ReadPasswordJob(service, nullptr);
        int code = finish(job, key, application);
        QByteArray value = job->binaryData();
        std::fwrite(reinterpret_cast<const char *>(value.data) + value.data->offset, 1, (size_t)value.data->size, stdout);
        return code;
    }
    if (!std::strcmp(verb, "delete")) {
        return finish(new QKeychain::DeletePasswordJob(service, nullptr), key, application);
    }
    return 64;
}
