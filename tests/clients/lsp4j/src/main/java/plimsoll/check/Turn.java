package plimsoll.check;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.eclipse.lsp4j.jsonrpc.Launcher;
import org.eclipse.lsp4j.jsonrpc.services.JsonNotification;
import org.eclipse.lsp4j.jsonrpc.services.JsonRequest;

/**
 * One turn over {@code plimsoll stdio}: every question is answered with {@code allowOnce}. Prints each event as a line of
 * JSON. Arguments: the workspace, the prompt. PLIMSOLL_BIN names the binary.
 */
public final class Turn {
    private static final Gson GSON = new Gson();

    /** The methods that a turn needs, as LSP4J wants them: one parameter, which is the object of parameters. */
    public interface Daemon {
        @JsonRequest("initialize")
        CompletableFuture<JsonObject> initialize(JsonObject params);

        @JsonRequest("project/open")
        CompletableFuture<JsonObject> openProject(JsonObject params);

        @JsonRequest("session/create")
        CompletableFuture<JsonObject> createSession(JsonObject params);

        @JsonRequest("session/attach")
        CompletableFuture<JsonPrimitive> attach(JsonObject params);

        @JsonRequest("turn/start")
        CompletableFuture<JsonObject> startTurn(JsonObject params);

        @JsonRequest("permission/respond")
        CompletableFuture<JsonObject> respond(JsonObject params);

        @JsonRequest("shutdown")
        CompletableFuture<JsonObject> shutdown(JsonObject params);
    }

    /** What the daemon tells. */
    public static final class Editor {
        final CompletableFuture<Void> ended = new CompletableFuture<>();
        Daemon daemon;

        @JsonNotification("session/event")
        public void event(JsonObject params) {
            JsonObject event = params.getAsJsonObject("result");
            System.out.println(GSON.toJson(event));
            switch (event.get("type").getAsString()) {
                case "permissionAsked" -> {
                    JsonObject ask = event.getAsJsonObject("ask");
                    if (!ask.has("resolution")) {
                        daemon.respond(object("session", event.get("session"), "ask", ask.get("id"), "choice", text("allowOnce")));
                    }
                }
                case "turnCompleted", "closed" -> ended.complete(null);
                default -> { }
            }
        }
    }

    private static JsonPrimitive text(String text) {
        return new JsonPrimitive(text);
    }

    private static JsonObject object(Object... fields) {
        JsonObject object = new JsonObject();
        for (int at = 0; at < fields.length; at += 2) {
            object.add((String) fields[at], (JsonElement) fields[at + 1]);
        }
        return object;
    }

    private static <T> T inTime(CompletableFuture<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    public static void main(String[] arguments) throws Exception {
        Process bridge = new ProcessBuilder(System.getenv("PLIMSOLL_BIN"), "stdio")
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
        Editor editor = new Editor();
        Launcher<Daemon> launcher =
            Launcher.createLauncher(editor, Daemon.class, bridge.getInputStream(), bridge.getOutputStream());
        Daemon daemon = launcher.getRemoteProxy();
        editor.daemon = daemon;
        launcher.startListening();

        inTime(daemon.initialize(object("clientInfo", object("name", text("lsp4j")), "protocolVersion", text("1.0"))));
        JsonArray roots = new JsonArray();
        roots.add(arguments[0]);
        JsonElement project = inTime(daemon.openProject(object("roots", roots))).get("key");
        JsonElement session = inTime(daemon.createSession(object("project", project))).get("id");
        inTime(daemon.attach(object("session", session)));
        inTime(daemon.startTurn(object("session", session, "text", text(arguments[1]))));
        inTime(editor.ended);
        inTime(daemon.shutdown(new JsonObject()));
        bridge.getOutputStream().close();
        if (!bridge.waitFor(60, TimeUnit.SECONDS)) {
            bridge.destroyForcibly();
            throw new IllegalStateException("the bridge does not end");
        }
        // 4: the daemon closed the connection, as it was asked to. Which of the two sides closes first is open.
        System.exit(bridge.exitValue() == 4 ? 0 : bridge.exitValue());
    }
}
