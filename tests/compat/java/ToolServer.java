import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Kafka's command line tools in one JVM, because most of a command's time is the start of a JVM.
 *
 * Standard input brings commands: the number of strings, then the strings (the main class, its arguments), then what
 * the tool reads as its input. Each is answered by the exit code, and by what went to standard output and to standard
 * error. Strings are a length of four bytes and UTF-8. The argument is the jar of the tools: every command loads it
 * anew, since the tools keep things in static fields that would be fresh in a process of their own.
 */
public class ToolServer {
    private static final PrintStream OUT = System.out;
    private static final Diverted STDOUT = new Diverted();
    private static final Diverted STDERR = new Diverted();
    private static final List<Runnable> HOOKS = new ArrayList<>();

    private static Answer exit;

    private record Answer(int code, byte[] stdout, byte[] stderr) {
        static Answer now(int code) {
            return new Answer(code, STDOUT.take(), STDERR.take());
        }
    }

    /** Kafka's tools leave by `Exit`: this takes the place of the JVM's end. */
    private static final class Exited extends Error {
    }

    /** What loggers and Scala's console keep for good, while every command has a buffer of its own. */
    private static final class Diverted extends OutputStream {
        private ByteArrayOutputStream buffer = new ByteArrayOutputStream();

        @Override
        public synchronized void write(int one) {
            buffer.write(one);
        }

        @Override
        public synchronized void write(byte[] data, int offset, int length) {
            buffer.write(data, offset, length);
        }

        synchronized byte[] take() {
            byte[] taken = buffer.toByteArray();
            buffer = new ByteArrayOutputStream();
            return taken;
        }
    }

    public static void main(String[] arguments) throws Exception {
        URL[] tools = {Path.of(arguments[0]).toUri().toURL()};
        System.setOut(new PrintStream(STDOUT, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(STDERR, true, StandardCharsets.UTF_8));
        Exit.setExitProcedure((code, message) -> leave(code));
        Exit.setHaltProcedure((code, message) -> leave(code));
        Exit.setShutdownHookAdder((name, hook) -> HOOKS.add(hook));
        DataInputStream commands = new DataInputStream(System.in);
        DataOutputStream answers = new DataOutputStream(OUT);
        while (true) {
            String[] command;
            try {
                command = new String[commands.readInt()];
            } catch (EOFException end) {
                Runtime.getRuntime().halt(0);  // whatever threads the tools have left behind
                return;
            }
            for (int i = 0; i < command.length; i++) command[i] = new String(read(commands), StandardCharsets.UTF_8);
            System.setIn(new ByteArrayInputStream(read(commands)));
            Answer answer = run(tools, command);
            answers.writeInt(answer.code);
            write(answers, answer.stdout);
            write(answers, answer.stderr);
            answers.flush();
        }
    }

    /** The answer as it is when a tool leaves; what comes later is what it makes of `Exited`. */
    private static synchronized Answer end(int code) {
        if (exit == null) {
            HOOKS.forEach(Runnable::run);
            exit = Answer.now(code);
        }
        return exit;
    }

    private static void leave(int code) {
        end(code);
        throw new Exited();
    }

    private static Answer run(URL[] tools, String[] command) throws Exception {
        exit = null;
        HOOKS.clear();
        Answer.now(0);  // what threads of the last command still had to say
        String[] arguments = new String[command.length - 1];
        System.arraycopy(command, 1, arguments, 0, arguments.length);
        try (URLClassLoader loader = new URLClassLoader(tools, ToolServer.class.getClassLoader())) {
            Thread.currentThread().setContextClassLoader(loader);
            loader.loadClass(command[0]).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return end(0);
        } catch (InvocationTargetException error) {
            if (exit == null) error.getCause().printStackTrace();
            return end(1);
        }
    }

    private static byte[] read(DataInputStream from) throws IOException {
        return from.readNBytes(from.readInt());
    }

    private static void write(DataOutputStream to, byte[] data) throws IOException {
        to.writeInt(data.length);
        to.write(data);
    }
}
